package cli

import (
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"contend/internal/lazyregexp"
)

// proposed are command lines that would work in a folder, by what it holds; "": none is known.
func proposed(folder fs.FS) string {
	var b strings.Builder
	for _, propose := range []func(fs.FS) []string{ofGoModule, ofNode, ofDockerfile, ofCompose} {
		for _, line := range propose(folder) {
			b.WriteString("  " + line + "\n")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nIn this folder:\n" + b.String()
}

// content is the text of a file, "" without one.
func content(folder fs.FS, name string) string {
	text, _ := fs.ReadFile(folder, name)
	return string(text)
}

// ofGoModule runs the program of a module, of several those in cmd.
func ofGoModule(folder fs.FS) (lines []string) {
	if content(folder, "go.mod") == "" {
		return nil
	}
	const most = 3
	programs, _ := fs.Glob(folder, "cmd/*/main.go")
	for _, main := range append([]string{"main.go"}, programs[:min(most, len(programs))]...) {
		if regexp.MustCompile(`(?m)^package main\b`).MatchString(content(folder, main)) {
			program := strings.TrimSuffix("./"+path.Dir(main), "/.")
			lines = append(lines, "contend run 'go run "+program+"'")
			if before := baseline(folder); before != "" {
				lines = append(lines, "contend compare --revisions "+before+",HEAD --build 'go build -o {{out}} "+program+"' --url http://{{addr}}/ -- '{{out}}'")
			}
		}
	}
	return lines
}

// baseline is the revision to compare HEAD with in a repository: its main branch, or what was before HEAD there.
func baseline(folder fs.FS) string {
	if _, err := fs.Stat(folder, ".git"); err != nil {
		return ""
	}
	for _, branch := range []string{"main", "master"} {
		name := "refs/heads/" + branch
		_, err := fs.Stat(folder, ".git/"+name)
		there := err == nil || strings.Contains(content(folder, ".git/packed-refs"), " "+name+"\n")
		if there && content(folder, ".git/HEAD") != "ref: "+name+"\n" {
			return branch
		}
	}
	return "HEAD~1"
}

// ofNode runs what npm starts, or the main file.
func ofNode(folder fs.FS) []string {
	var p struct {
		Main    string            `json:"main"`
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal([]byte(content(folder, "package.json")), &p) != nil {
		return nil
	}
	switch {
	case p.Scripts["start"] != "":
		return []string{"contend run 'npm start'"}
	case p.Main != "":
		return []string{"contend run 'node " + p.Main + "'"}
	}
	return nil
}

var (
	exposed   = lazyregexp.New(`(?mi)^EXPOSE\s+(\d+)`)
	publishes = lazyregexp.New(`(?m)(?:^\s*-|\bports:\s*\[)\s*["']?(?:[\d.]+:)?(\d+):\d+`)
)

// ofDockerfile runs the image.
func ofDockerfile(folder fs.FS) []string {
	if port := exposed().FindStringSubmatch(content(folder, "Dockerfile")); port != nil {
		return []string{"docker build -t app . && contend run 'docker run --rm -p {{port}}:" + port[1] + " app'"}
	}
	return nil
}

// ofCompose drives the first port that is published.
func ofCompose(folder fs.FS) []string {
	for _, name := range []string{"compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"} {
		if port := publishes().FindStringSubmatch(content(folder, name)); port != nil {
			return []string{"docker compose up -d --wait && contend run http://localhost:" + port[1] + "/"}
		}
	}
	return nil
}
