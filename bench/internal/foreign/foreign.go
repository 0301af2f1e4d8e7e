// Package foreign has servers in other languages than Go, whose handlers take a number of steps of arithmetic.
package foreign

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed servers
var servers embed.FS

// commands are those of the servers by name, out of the folder that holds them.
var commands = map[string]string{
	"node":            "node %s/work.js {{addr}} %d",
	"java":            "java -Dsun.net.httpserver.nodelay=true -cp %s Work {{addr}} %d",
	"python":          "python3 %s/work.py {{addr}} %d",
	"python, asyncio": "python3 %s/single.py {{addr}} %d",
}

// Command is that of a server that takes so many steps for a request. It puts the files that the server needs in a
// folder.
func Command(ctx context.Context, folder, name string, steps int64) (string, error) {
	dir := filepath.Join(folder, "servers")
	if err := os.CopyFS(folder, servers); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "Work.class")); name == "java" && err != nil {
		if text, err := exec.CommandContext(ctx, "javac", "-d", dir, filepath.Join(dir, "Work.java")).CombinedOutput(); err != nil {
			return "", errors.New(string(text))
		}
	}
	return fmt.Sprintf(commands[name], dir, steps), nil
}
