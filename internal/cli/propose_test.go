package cli

import (
	"strings"
	"testing"
	"testing/fstest"
)

// In a folder with a program contend proposes the line that starts it, which it knows how to read.
func TestProposed(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"nothing":         {map[string]string{"readme": "x"}, nil},
		"a Go program":    {map[string]string{"go.mod": "module x", "main.go": "package main\n"}, []string{"contend run 'go run .'"}},
		"a branch":        {map[string]string{"go.mod": "module x", "main.go": "package main\n", ".git/HEAD": "ref: refs/heads/own\n", ".git/refs/heads/main": "x"}, []string{"contend run 'go run .'", revisions("main", ".")}},
		"master itself":   {map[string]string{"go.mod": "module x", "main.go": "package main\n", ".git/HEAD": "ref: refs/heads/master\n", ".git/packed-refs": "x refs/heads/master\n"}, []string{"contend run 'go run .'", revisions("HEAD~1", ".")}},
		"in cmd":          {map[string]string{"go.mod": "module x", "main.go": "package x\n", "cmd/a/main.go": "// A\npackage main\n", ".git/HEAD": "x\n", ".git/packed-refs": "x refs/heads/master\n"}, []string{"contend run 'go run ./cmd/a'", revisions("master", "./cmd/a")}},
		"a Go library":    {map[string]string{"go.mod": "module x", "main.go": "package x\n"}, nil},
		"npm":             {map[string]string{"package.json": `{"scripts": {"start": "node ."}, "main": "x.js"}`}, []string{"contend run 'npm start'"}},
		"node":            {map[string]string{"package.json": `{"main": "x.js"}`}, []string{"contend run 'node x.js'"}},
		"broken":          {map[string]string{"package.json": `{`}, nil},
		"an image":        {map[string]string{"Dockerfile": "FROM x\nEXPOSE 80\n"}, []string{"docker build -t app . && contend run 'docker run --rm -p {{port}}:80 app'"}},
		"ports in a line": {map[string]string{"compose.yml": "services: {a: {ports: [\"8080:80\"]}}\n"}, []string{"docker compose up -d --wait && contend run http://localhost:8080/"}},
		"several images":  {map[string]string{"compose.yaml": "services:\n  a:\n    ports:\n      - \"127.0.0.1:8081:80\"\n"}, []string{"docker compose up -d --wait && contend run http://localhost:8081/"}},
	} {
		folder := fstest.MapFS{}
		for file, text := range tt.files {
			folder[file] = &fstest.MapFile{Data: []byte(text)}
		}
		want := ""
		if tt.want != nil {
			want = "\nIn this folder:\n  " + strings.Join(tt.want, "\n  ") + "\n"
		}
		if got := proposed(folder); got != want {
			t.Errorf("%s: proposed %q, want %q", name, got, want)
		}
		for _, line := range tt.want {
			if err := parses(line[strings.Index(line, "contend"):]); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
}

func revisions(before, program string) string {
	return "contend compare --revisions " + before + ",HEAD --build 'go build -o {{out}} " + program + "' --url http://{{addr}}/ -- '{{out}}'"
}
