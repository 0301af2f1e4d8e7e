package discover

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"contend/failure"
	"contend/internal/testenv"
)

// What a program wrote last says what it lacks.
func TestExplained(t *testing.T) {
	for last, want := range map[string]string{
		"2026/11/27 20:56:39 dial tcp 127.0.0.1:5432: connect: connection refused":                              "start PostgreSQL at 127.0.0.1:5432",
		"Error: connect ECONNREFUSED ::1:6379\n    at TCPConnectWrap (node:net:1607:16)":                        "start Redis at",
		`psycopg2.OperationalError: connection to server at "db", port 5432 failed: Connection refused`:         "start PostgreSQL at db:5432",
		"dial tcp [::1]:7777: connect: connection refused":                                                      "start the server that it needs at [::1]:7777",
		"socket.create_connection(('127.0.0.1', 5432))\nConnectionRefusedError: [Errno 111] Connection refused": "start PostgreSQL at 127.0.0.1:5432",
		"the offer was refused":                                          "",
		"Usage: server [flags]\n  -listen ADDR":                          "give the program the arguments that it wants",
		"DATABASE_URL is not set":                                        "--env DATABASE_URL=VALUE",
		"KeyError: environment variable missing: API_TOKEN must be set":  "--env API_TOKEN=VALUE",
		"KeyError: 'DATABASE_URL'":                                       "--env DATABASE_URL=VALUE",
		"KeyError: 'name'":                                               "",
		`key not found: "API_TOKEN" (KeyError)`:                          "--env API_TOKEN=VALUE",
		"Error: missing environment variable: PGHOST":                    "--env PGHOST=VALUE",
		"Set the SECRET_KEY environment variable":                        "--env SECRET_KEY=VALUE",
		"dial tcp: lookup db on 10.0.0.2:53: no such host":               "tell the program where db is",
		"Error: getaddrinfo ENOTFOUND db.local":                          "tell the program where db.local is",
		`could not translate host name "db" to address: Name or service`: "tell the program where db is",
		"listen tcp :8080: bind: address already in use":                 "end the program that has this port",
		"listen tcp :80: bind: permission denied":                        "from 1024 on",
		"contend: exec format error":                                     "#!/bin/sh",
		"Error: Cannot find module '/x/a.js'":                            "check the path /x/a.js,",
		"python3: can't open file '/x/a.py': [Errno 2]":                  "check the path /x/a.py,",
		"Error: Unable to access jarfile x.jar":                          "check the path x.jar,",
		"ModuleNotFoundError: No module named 'flask'":                   "install flask,",
		"Error: Cannot find module 'express'":                            "install express,",
		"mkdir /data: read-only file system":                             "--dir FOLDER",
		"panic: oh":                                                      "",
	} {
		err := failure.With(errors.New("exit status 1"), failure.Failure{Kind: failure.Exited, Cause: "exit status 1", LastWords: strings.Split(last, "\n")})
		f, _ := failure.Of(explained(err, []string{"server"}))
		if !strings.Contains(f.Advice, want) || want == "" && f.Advice != "" || f.Cause != "exit status 1" {
			t.Errorf("%s: advice %q, want %q", last, f.Advice, want)
		}
	}
	silent, _ := failure.Of(explained(failure.With(errors.New("x"), failure.Failure{Kind: failure.NotReady, Cause: "x", More: "it wrote nothing"}), []string{"server"}))
	if silent.Cause != "it listens on no TCP port after 10s" || silent.More != "it wrote nothing" || silent.Advice == "" {
		t.Errorf("of one that listens nowhere: %+v", silent)
	}
}

// A program that does not say where it was refused a connection was seen to be.
func TestSeenRefused(t *testing.T) {
	const seen = "nothing listened at 127.0.0.1:5432, so its connection was refused"
	for last, want := range map[string]string{
		"":                         "start PostgreSQL at 127.0.0.1:5432",
		"db: connection refused":   "start PostgreSQL at 127.0.0.1:5432",
		"DATABASE_URL is not set":  "--env DATABASE_URL=VALUE",
		"dial [::1]:6379: refused": "start Redis at [::1]:6379",
	} {
		err := failure.With(errors.New("x"), failure.Failure{Kind: failure.NotReady, Cause: "x", More: seen, LastWords: strings.Split(last, "\n")})
		if f, _ := failure.Of(explained(err, []string{"server"})); !strings.Contains(f.Advice, want) {
			t.Errorf("%q: advice %q, want %q", last, f.Advice, want)
		}
	}
}

// A program that went to the background is told how to stay.
func TestInBackground(t *testing.T) {
	none := 0
	ended := failure.With(errors.New("exit status 0"), failure.Failure{Kind: failure.Exited, Exit: &none})
	for command, want := range map[string]string{"/usr/sbin/nginx": "-g 'daemon off;'", "./server": ""} {
		if f, _ := failure.Of(explained(ended, []string{command})); !strings.Contains(f.Advice, want) || (f.Advice == "") != (want == "") {
			t.Errorf("%s: advice %q, want %q", command, f.Advice, want)
		}
	}
}

// What cannot be started, or would start others, is not.
func TestRunnable(t *testing.T) {
	file := testenv.Files(t, "server.py", "print()", "script", "#!/usr/bin/env ruby\n", "program", "\x7fELF\x02")
	folder := filepath.Dir(file)
	for _, tt := range []struct {
		command string
		want    string // "": nothing
		advice  string // its end
	}{
		{file, "server.py is not executable", "'python3 " + file + "'"},
		{folder + "/script", "script is not executable", "'ruby " + folder + "/script'"},
		{folder + "/program", "program is not executable", "chmod +x " + folder + "/program"},
		{"docker compose up", "started by a daemon", "URLs"},
		{"docker-compose up", "started by a daemon", "URLs"},
		{"docker run x", "", ""},
		{"./none", "", ""},
	} {
		err := runnable(strings.Fields(tt.command), "")
		if tt.want == "" {
			testenv.Must(t, err)
			continue
		}
		f, _ := failure.Of(err)
		if testenv.Says(t, err, tt.want); !strings.HasSuffix(f.Advice, tt.advice) {
			t.Errorf("%s: advice %q, want %q", tt.command, f.Advice, tt.advice)
		}
	}
}

// A program is known by what it begins with, not by its name.
func TestIsProgram(t *testing.T) {
	folder := filepath.Dir(testenv.Files(t, "script", "#!/bin/sh\n", "program", "\x7fELF\x02", "result", "{}", "empty", ""))
	for file, want := range map[string]bool{"script": true, "program": true, "result": false, "empty": false, "none": false, "": false} {
		if got := IsProgram(filepath.Join(folder, file)); got != want {
			t.Errorf("%s: %v", file, got)
		}
	}
}
