package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"contend/bench/internal/paired"
	"contend/subject"
)

// smallBody has 61 bytes; the large page has 130 000 and is text.
const (
	smallBody = `{"status":true,"counter":123456,"note":"sixty-one bytes now"}`
	bigBytes  = 130_000
)

func bigBody() []byte {
	line := []byte("<p>The quick brown fox jumps over the lazy dog.</p>\n")
	return bytes.Repeat(line, bigBytes/len(line)+1)[:bigBytes]
}

// A row is one page.
type row struct {
	title string
	file  string
	bar   float64
}

var rows = []row{
	{"61 bytes", "small.json", 0.9},
	{"130 kB", "big.html", 1.0},
}

// config is nginx's configuration. Its best: files stay open, and /answer is not
// even a file.
const config = `daemon off;
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
	open_file_cache max=100 inactive=1h;
	open_file_cache_valid 10s;
	client_body_temp_path {{dir}}/body;
	proxy_temp_path {{dir}}/proxy;
	fastcgi_temp_path {{dir}}/fastcgi;
	uwsgi_temp_path {{dir}}/uwsgi;
	scgi_temp_path {{dir}}/scgi;
	types { text/html html; application/json json; }
	server {
		listen {{addr}};
		root {{dir}};
		location = /answer {
			default_type application/json;
			return 200 '` + smallBody + `';
		}
	}
}
`

// servers are what is compared.
type servers struct {
	ours, portable, nginx *subject.Subject
	version               string
}

// startServers starts ours and nginx. Each has the pages in a folder of its own.
func startServers(ctx context.Context, contend string) (s *servers, err error) {
	s = &servers{}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	pages := func(more map[string]string) map[string]string {
		files := map[string]string{"small.json": smallBody, "big.html": string(bigBody())}
		for name, text := range more {
			files[name] = text
		}
		return files
	}
	serve := []string{contend, "serve", "static", "--http", "{{addr}}", "--threads", "1"}
	if s.ours, err = subject.Start(ctx, subject.Config{Name: "contend", Command: append(serve, "{{dir}}"), Files: pages(nil)}); err != nil {
		return s, err
	}
	serve = append(serve, "--engine", "goroutines", "{{dir}}")
	if s.portable, err = subject.Start(ctx, subject.Config{Name: "goroutines", Command: serve, Files: pages(nil)}); err != nil {
		return s, err
	}
	binary, err := paired.Find("nginx")
	if err != nil {
		if binary, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			return s, fmt.Errorf("nginx: %w", err)
		}
	}
	version, _ := exec.Command(binary, "-v").CombinedOutput()
	s.version = strings.TrimPrefix(strings.TrimSpace(string(version)), "nginx version: ")
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // or its worker could not read the folder
	}
	s.nginx, err = subject.Start(ctx, subject.Config{
		Command: []string{binary, "-p", "{{dir}}", "-c", "{{dir}}/nginx.conf", "-e", "{{dir}}/error.log"},
		Files:   pages(map[string]string{"nginx.conf": strings.Replace(config, "USER", user, 1)}),
	})
	return s, err
}

func (s *servers) stop() {
	for _, server := range []*subject.Subject{s.ours, s.portable, s.nginx} {
		if server != nil {
			_ = server.Stop(context.Background())
		}
	}
}

// An arm is one server with one page.
type arm struct {
	name   string
	server *subject.Subject
	url    string
	body   []byte
	bar    float64 // of ours to this one; 0: none
}

// arms of a row; ours is first.
func (s *servers) arms(r row) []arm {
	body := []byte(smallBody)
	if r.file == "big.html" {
		body = bigBody()
	}
	at := func(name string, server *subject.Subject, path string, bar float64) arm {
		return arm{name, server, "http://" + server.Addr("") + "/" + path, body, bar}
	}
	list := []arm{
		at("contend", s.ours, r.file, 0),
		at("nginx, file", s.nginx, r.file, r.bar),
		at("contend with goroutines", s.portable, r.file, 0),
	}
	if r.file == "small.json" {
		list = append(list, at("nginx, return", s.nginx, "answer", r.bar))
	}
	return list
}
