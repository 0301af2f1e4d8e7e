package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"contend/bench/internal/paired"
)

// load is the folder of the scripts that are measured, from the project's root.
const load = "bench/script/load"

// shopDirectives has a login and what follows from it, all of fixed text.
const shopDirectives = `
	server {
		listen {{addr}} backlog=4096;
		default_type application/json;
		location = / { return 200 '` + paired.SmallBody + `'; }
		location = /login { return 200 '{"token":"0123456789abcdef","user":{"name":"ann","roles":["a","b"]}}'; }
		location = /items { return 200 '{"items":[{"id":11,"name":"one"},{"id":12,"name":"two"},{"id":13,"name":"three"}]}'; }
		location /items/ { return 200 '{"id":12,"name":"two","price":1.5,"tags":["x","y"]}'; }
		location = /logout { return 204; }
	}`

// speed compares what iterations and virtual users cost, of contend or its
// replacement, and of k6.
func speed(ctx context.Context, w io.Writer, t tools, c *paired.Comparison) error {
	seconds, err := c.Seconds()
	if err != nil {
		return err
	}
	server, version, err := paired.StartNginx(ctx, shopDirectives, map[string]string{})
	if err != nil {
		return err
	}
	defer func() { _ = server.Stop(context.WithoutCancel(ctx)) }()
	counter, stop, err := paired.Serve(ctx, nil, t.contend, "serve", "counter", "--grpc", "{{addr}}", "--guard", "mutex")
	if err != nil {
		return err
	}
	defer stop()
	protos, err := filepath.Abs("systems/counter/counterpb")
	if err != nil {
		return err
	}
	environment := []string{"BASE=http://" + server.Addr(""), "COUNTER=" + counter, "PROTOS=" + protos, fmt.Sprintf("DURATION=%ds", seconds)}
	tables := map[string]paired.Table{
		"get":   t.table("a GET and a check", 4, "get.js", environment, 10, 100),
		"async": t.table("an asynchronous GET that is awaited, and a check", 3, "async.js", environment, 10, 100),
		"pair":  t.table("two asynchronous GETs at a time, and a check", 3, "pair.js", environment, 10, 100),
		"batch": t.table("a batch of three GETs, and a check", 3, "batch.js", environment, 10, 100),
		"login": t.table("five requests with JSON and five checks", 3, "login.js", environment, 50),
		"grpc":  t.table("connect, a unary call and close", 5, "grpc.js", environment, 50),
		"idle": {Title: "resident memory of a virtual user that sleeps", Own: func(ctx context.Context, w io.Writer, rounds int) error {
			return t.idle(ctx, w, rounds)
		}},
	}
	fmt.Fprintf(w, "%s with one worker, k6 %s, ", version, t.version)
	return c.Print(ctx, w, tables)
}

// table compares iterations of one script, by so many virtual users.
func (t tools) table(title string, bar float64, name string, environment []string, users ...int) paired.Table {
	table := paired.Table{Title: title}
	for _, n := range users {
		among := append(environment[:len(environment):len(environment)], fmt.Sprintf("VUS=%d", n))
		theirs := t.theirs.measured(name, among)
		theirs.Bar = bar
		table.Rows = append(table.Rows, paired.Row{Title: fmt.Sprintf("%s, %d virtual users", name, n), Connections: n,
			Tools: []paired.Tool{t.ours.measured(name, among), theirs}})
	}
	return table
}

// measured is the tool with the command of a block.
func (t tool) measured(name string, environment []string) paired.Tool {
	args := t.loading
	for _, variable := range environment {
		args = append(args[:len(args):len(args)], t.variable, variable)
	}
	return paired.Tool{Name: t.name, Path: t.path, Args: append(args, filepath.Join(load, name)), Count: t.count, Doubts: []int{paired.Doubted}}
}

// countK6 reads k6's summary: iterations, and checks that did not hold.
var countK6 = paired.CountText(`iterations\.+: (\d+)`, `✗ [1-9]`)

// asleep is how long virtual users sleep while their memory is looked at.
const asleep = 3 * time.Second
