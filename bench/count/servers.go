package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"contend/bench/internal/foreign"
	"contend/bench/internal/paired"
	"contend/experiment"
)

//go:embed native
var sources embed.FS

// A language has its servers.
type language struct {
	name string
	// needs is the program without which it is left out.
	needs  string
	shares []float64 // of a request's instructions, that are planted
	// subject makes a server, in whose command {{place}} and {{turns}} are put in if its requests can cost more.
	subject func(ctx context.Context, l language, dir string) (experiment.Subject, error)
	source  string // of what is compiled, which is read from standard input
	compile string // what follows needs, with {{program}}
	command string // follows the program
	url     string
	prefix  string // of the names of its functions
}

const (
	httpURL = "http://{{addr}}/"
	goBuild = "build -o {{program}} ./bench/count/server"
	grpcURL = "grpc://{{addr}}/counter.incrementCounter/increment"
)

var (
	planted   = []float64{0.002, 0.01, 0}
	equal     = []float64{0}
	languages = []language{
		{"go", "go", planted, compiled, "", goBuild, "http {{addr}}", httpURL, "main."},
		{"fasthttp", "go", planted, compiled, "", goBuild, "fasthttp {{addr}}", httpURL, "main."},
		{"grpc", "go", planted, compiled, "", goBuild, "grpc {{addr}}", grpcURL, "main."},
		{"c", "cc", planted, compiled, "server.c", "-O2 -g -x c -pthread -o {{program}} -", "{{host}} {{port}}", httpURL, ""},
		{"rust", "rustc", planted, compiled, "server.rs", "-O -g --crate-name server -o {{program}} -", "{{addr}}", httpURL, "server::"},
		{"nginx", "nginx", equal, nginx, "", "", "", httpURL, ""},
		{"python", "python3", equal, interpreted, "", "", "", httpURL, ""},
		{"node", "node", equal, interpreted, "", "", "", httpURL, ""},
	}
)

// A kind is what is compared: servers in a language, and by how much of a request one does more.
type kind struct {
	name string
	language
	planted float64
}

func kinds() (all []kind) {
	for _, l := range languages {
		for _, share := range l.shares {
			name := "equal"
			if share > 0 {
				name = fmt.Sprintf("%g%%", 100*share)
			}
			all = append(all, kind{l.name + "-" + name, l, share})
		}
	}
	return all
}

// compiled builds the server.
func compiled(ctx context.Context, l language, dir string) (s experiment.Subject, err error) {
	program := filepath.Join(dir, "server-"+l.name)
	var args []string
	for arg := range strings.FieldsSeq(l.compile) {
		args = append(args, strings.ReplaceAll(arg, "{{program}}", program))
	}
	compiler, err := paired.Find(l.needs)
	if err != nil {
		return s, err
	}
	build := exec.CommandContext(ctx, compiler, args...)
	if l.source != "" {
		source, err := sources.Open("native/" + l.source)
		if err != nil {
			return s, err
		}
		defer source.Close()
		build.Stdin = source
	}
	if out, err := build.CombinedOutput(); err != nil {
		return s, fmt.Errorf("%s: %w\n%s", build, err, out)
	}
	return experiment.Subject{Command: "'" + program + "' " + l.command + " {{place}} {{turns}}"}, nil
}

// interpreted has a server that is not compiled before it starts.
func interpreted(ctx context.Context, l language, dir string) (experiment.Subject, error) {
	command, err := foreign.Command(ctx, dir, l.name, 0)
	return experiment.Subject{Command: command}, err
}

// nginx has one whose responses need no file.
func nginx(context.Context, language, string) (experiment.Subject, error) {
	binary, config, err := paired.Nginx("server { listen {{addr}} backlog=1024; location / { return 200 '"+paired.SmallBody+"'; } }", "{{dir}}")
	command := binary + " -p {{dir}} -c {{dir}}/nginx.conf -e {{dir}}/error.log"
	return experiment.Subject{Command: command, Files: map[string]string{"nginx.conf": config}}, err
}

// missing reports whether the language's program is not installed.
func (l language) missing() bool {
	_, err := paired.Find(l.needs)
	return errors.Is(err, exec.ErrNotFound)
}
