package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"contend/bench/internal/paired"
)

// sources are the servers that are not in Go.
//
//go:embed native
var sources embed.FS

const cSource = "planted.c"

// A builder makes the commands of servers in a folder of its own.
type builder struct {
	dir, self, contend, cflags string
}

// c compiles the server in C, and returns its command for a cause.
func (b builder) c(ctx context.Context, cause string) (string, error) {
	program := filepath.Join(b.dir, "planted")
	command := fmt.Sprintf("'%s' %s {{host}} {{port}}", program, cause)
	if _, err := os.Stat(program); err == nil {
		return command, nil
	}
	compiler, err := found("cc", "a C compiler")
	if err != nil {
		return "", err
	}
	source, err := b.write(cSource)
	if err != nil {
		return "", err
	}
	args := append(strings.Fields(b.cflags), "-o", program, source, "-pthread")
	if out, err := exec.CommandContext(ctx, compiler, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", compiler, strings.Join(args, " "), err, out)
	}
	return command, nil
}

// script returns the command of a server that an interpreter runs.
func (b builder) script(interpreter, name string) (string, error) {
	program, err := found(interpreter, interpreter)
	if err != nil {
		return "", err
	}
	path, err := b.write(name)
	return fmt.Sprintf("'%s' '%s' {{host}} {{port}}", program, path), err
}

// found looks for a program that a server needs.
func found(name, what string) (string, error) {
	path, err := paired.Find(name)
	if errors.Is(err, exec.ErrNotFound) {
		err = fmt.Errorf("this server needs %s, and %s is not on PATH: install it, or leave it out with -only", what, name)
	}
	return path, err
}

// write copies a source into the folder.
func (b builder) write(name string) (string, error) {
	source, err := sources.ReadFile("native/" + name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.dir, name)
	return path, os.WriteFile(path, source, 0o600)
}
