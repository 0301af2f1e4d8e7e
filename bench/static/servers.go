package main

import (
	"context"

	"contend/bench/internal/paired"
	"contend/subject"
)

// A row is one page.
type row struct {
	title string
	file  string
	body  string
	bar   float64 // of ours to nginx
}

func rows() []row {
	return []row{
		{"61 bytes", "small.json", paired.SmallBody, 0.7},
		{"130 kB", "big.html", string(paired.BigBody()), 0.7},
	}
}

// directives are nginx's best: files stay open, and /answer is not even a file.
const directives = `
	open_file_cache max=100 inactive=1h;
	open_file_cache_valid 10s;
	types { text/html html; application/json json; }
	server {
		listen {{addr}};
		root {{dir}};
		location = /answer {
			default_type application/json;
			return 200 '` + paired.SmallBody + `';
		}
	}`

// servers are what is compared.
type servers struct {
	ours, nginx *subject.Subject
	version     string // of nginx
}

// startServers starts ours and nginx. Each has the pages in a folder of its own.
func startServers(ctx context.Context, contend string) (s *servers, err error) {
	s = &servers{}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	pages := map[string]string{}
	for _, r := range rows() {
		pages[r.file] = r.body
	}
	s.ours, err = subject.Start(ctx, subject.Config{Name: "contend", Files: pages,
		Command: []string{contend, "serve", "static", "--http", "{{addr}}", "--threads", "1", "{{dir}}"}})
	if err != nil {
		return s, err
	}
	s.nginx, s.version, err = paired.StartNginx(ctx, directives, pages)
	return s, err
}

func (s *servers) stop() {
	for _, server := range []*subject.Subject{s.ours, s.nginx} {
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
	body   string
	bar    float64 // of ours to this one; 0: none
}

// arms of a row; ours is first.
func (s *servers) arms(r row) []arm {
	at := func(name string, server *subject.Subject, path string, bar float64) arm {
		return arm{name, server, "http://" + server.Addr("") + "/" + path, r.body, bar}
	}
	list := []arm{
		at("contend", s.ours, r.file, 0),
		at("nginx, file", s.nginx, r.file, r.bar),
	}
	if r.body == paired.SmallBody {
		list = append(list, at("nginx, return", s.nginx, "answer", 0))
	}
	return list
}
