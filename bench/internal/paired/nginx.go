package paired

import (
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"strings"

	"contend/subject"
)

// SmallBody has 61 bytes.
const SmallBody = `{"status":true,"counter":123456,"note":"sixty-one bytes now"}`

// BigBody returns a page of 130 000 bytes of text.
func BigBody() []byte {
	const size = 130_000
	line := []byte("<p>The quick brown fox jumps over the lazy dog.</p>\n")
	return bytes.Repeat(line, size/len(line)+1)[:size]
}

// nginxConfig has one worker, keeps connections, and writes no log. As root its
// worker stays root, or it could not read the folder.
const nginxConfig = `daemon off;
worker_processes 1;
USER
pid {{dir}}/nginx.pid;
error_log {{dir}}/error.log;
events { worker_connections 4096; }
http {
	access_log off;
	sendfile on;
	tcp_nopush on;
	keepalive_requests 1000000000;
	client_body_temp_path {{dir}}/body;
	proxy_temp_path {{dir}}/proxy;
	fastcgi_temp_path {{dir}}/fastcgi;
	uwsgi_temp_path {{dir}}/uwsgi;
	scgi_temp_path {{dir}}/scgi;
	HTTP
}
`

// Nginx returns the path of nginx, and its configuration with one worker; the directives are those of its block http,
// and its files are in dir.
func Nginx(directives, dir string) (binary, config string, err error) {
	binary, err = Find("nginx")
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;"
	}
	return binary, strings.NewReplacer("USER", user, "HTTP", directives, "{{dir}}", dir).Replace(nginxConfig), err
}

// StartNginx starts it, with files in {{dir}}.
func StartNginx(ctx context.Context, directives string, files map[string]string) (server *subject.Subject, version string, err error) {
	binary, config, err := Nginx(directives, "{{dir}}")
	if err != nil {
		return nil, "", err
	}
	files = maps.Clone(files)
	files["nginx.conf"] = config
	said, _ := exec.Command(binary, "-v").CombinedOutput()
	server, err = subject.Start(ctx, subject.Config{Files: files,
		Command: []string{binary, "-p", "{{dir}}", "-c", "{{dir}}/nginx.conf", "-e", "{{dir}}/error.log"}})
	return server, strings.TrimPrefix(strings.TrimSpace(string(said)), "nginx version: "), err
}
