package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed servers
var foreign embed.FS

// A language is that of a server of row n.
type language struct {
	usual   int64                               // what the baseline does for a request: ns, or steps of arithmetic
	command func(dir string, work int64) string // out of the folder with the servers; "": this program is the server
}

// languages are those of the servers of row n, by what their differences begin with; that without a name is Go's.
var languages = map[string]language{
	"":     {usual: 50_000},
	"node": {20_000, func(dir string, work int64) string { return fmt.Sprintf("node %s/work.js {{addr}} %d", dir, work) }},
	"java": {20_000, func(dir string, work int64) string {
		return fmt.Sprintf("java -Dsun.net.httpserver.nodelay=true -cp %s Work {{addr}} %d", dir, work)
	}},
	"python": {1_000, func(dir string, work int64) string {
		return fmt.Sprintf("python3 %s/work.py {{addr}} %d", dir, work)
	}},
}

// serverOf is the command of a server that does so much for a request.
func (b *bench) serverOf(ctx context.Context, of string, work int64) (string, error) {
	l := languages[of]
	if l.command == nil {
		return fmt.Sprintf("%s %s {{addr}} %dns", b.self, workCommand, work), nil
	}
	dir := filepath.Join(b.folder, "servers")
	if _, err := os.Stat(dir); err != nil {
		if err := os.CopyFS(b.folder, foreign); err != nil {
			return "", err
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "Work.class")); of == "java" && err != nil {
		if text, err := exec.CommandContext(ctx, "javac", "-d", dir, filepath.Join(dir, "Work.java")).CombinedOutput(); err != nil {
			return "", errors.New(string(text))
		}
	}
	return l.command(dir, work), nil
}
