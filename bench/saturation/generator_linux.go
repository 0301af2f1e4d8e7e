package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"contend/load"
	"contend/protocol"
	"contend/protocol/wire"
	"contend/stat"
	"contend/subject"
	"contend/trial"
)

// One run takes no longer than 1.5 s.
const (
	warmup = 300 * time.Millisecond
	window = time.Second
)

// measure is the generator: it starts the server, tells its number, waits for
// a line, measures, and tells what it saw.
func measure(ctx context.Context, w io.Writer, contend, text string) error {
	var c testCase
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	arm := trial.Arm{Name: "server", Start: func(ctx context.Context, _ trial.Setup) (*trial.Live, error) {
		return start(ctx, w, contend, c)
	}}
	cell, err := trial.Measure(ctx, arm, load.Plan{VUs: c.VUs, Warmup: warmup, Duration: window, Grace: load.DefaultGrace, Timeout: 10 * time.Second})
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(report(cell))
}

func start(ctx context.Context, w io.Writer, contend string, c testCase) (*trial.Live, error) {
	server, err := subject.Start(ctx, subject.Config{
		Command: []string{contend, "serve", "counter", "--http", "{{addr}}"}, Ready: subject.Ready{HTTP: "/health"}})
	if err != nil {
		return nil, err
	}
	live := &trial.Live{Subject: server, Address: "http://" + server.Addr("") + "/status/atomic", Stop: server.Stop}
	live.Target, err = protocol.Opener{Surroundings: wire.Surroundings{VUs: c.VUs}}.Open(ctx, protocol.At(live.Address).With("no_keepalive", fmt.Sprint(c.Fresh)))
	if err == nil {
		_, err = fmt.Fprintln(w, server.PID())
	}
	if err == nil {
		_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	}
	return live, err
}

func report(c trial.Cell) seen {
	seconds := c.Duration.Seconds()
	s := seen{Throughput: c.ThroughputPerSec, Generator: c.GeneratorCPUSec / seconds, Machine: c.MachineCPUSec / seconds,
		Cores:  float64(c.MachineCores),
		Waited: c.GeneratorWaitedSec, Stalled: c.GeneratorStalledSec, Limit: c.GeneratorCPULimit}
	if c.Server != nil {
		s.Server = c.Server.CPUSec / seconds
	}
	if c.GeneratorShare != nil {
		s.Share = *c.GeneratorShare
	}
	if refusal := c.Refusal(stat.HigherIsFaster); refusal != nil {
		s.Refusal, s.Text = refusal.Code, refusal.Text
	}
	for _, f := range c.Warnings {
		s.Findings = append(s.Findings, f.Code)
	}
	return s
}
