package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// paths are what each work asks the server for.
var paths = map[string]string{"small": "/small", "big": "/big.html", "connect": "/small"}

const bigBytes = 130_000

// config is nginx's configuration, to be filled with the directory, the user
// and the address. The answer of /small has a body of 61 bytes.
const config = `daemon off;
worker_processes 1;
%[2]s
pid %[1]s/nginx.pid;
error_log %[1]s/error.log;
events { worker_connections 4096; }
http {
	access_log off;
	sendfile on;
	tcp_nopush on;
	keepalive_requests 1000000000;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	server {
		listen %[3]s;
		root %[1]s;
		location = /small {
			default_type application/json;
			return 200 '{"status":true,"counter":123456,"note":"sixty-one bytes now"}';
		}
	}
}
`

// An nginx is a running server.
type nginx struct {
	cmd              *exec.Cmd
	address, version string
}

func startNginx(dir string) (*nginx, error) {
	binary, err := exec.LookPath("nginx")
	if err != nil {
		if binary, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			return nil, fmt.Errorf("no server: %w", err)
		}
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // or its worker could not read the directory
	}
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, dir, user, address), 0o644); err != nil {
		return nil, err
	}
	big := bytes.Repeat([]byte("<p>The quick brown fox jumps over the lazy dog.</p>\n"), bigBytes/50)[:bigBytes]
	if err := os.WriteFile(filepath.Join(dir, "big.html"), big, 0o644); err != nil {
		return nil, err
	}
	version, _ := exec.Command(binary, "-v").CombinedOutput()
	n := &nginx{
		cmd:     exec.Command(binary, "-p", dir, "-c", file, "-e", filepath.Join(dir, "error.log")),
		address: address,
		version: strings.TrimPrefix(strings.TrimSpace(string(version)), "nginx version: "),
	}
	n.cmd.Stderr = os.Stderr
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	if err := n.wait(); err != nil {
		n.stop()
		return nil, err
	}
	return n, nil
}

// wait returns once the server accepts connections.
func (n *nginx) wait() error {
	for range 100 {
		conn, err := net.Dial("tcp", n.address)
		if err == nil {
			return conn.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("nginx does not listen on %s", n.address)
}

func (n *nginx) stop() {
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	_ = n.cmd.Wait()
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
