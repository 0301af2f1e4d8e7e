package experiment

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"contend/finding"
	"contend/internal/testenv"
	"contend/load"
	"contend/report"
	"contend/trial"
)

// incomplete is how many iterations a command completes that misses 50 more, and fails.
const incomplete = 999

// measuring is set for the test program itself where it is the command of an arm.
const measuring = "CONTEND_TEST_MEASURING"

func TestMain(m *testing.M) {
	if os.Getenv(measuring) == "" {
		os.Exit(m.Run())
	}
	if os.Args[1] == "wait" { // whoever listens there learns of it, and lets it wait
		conn, err := net.Dial("tcp", os.Args[2])
		if err == nil {
			_, err = io.Copy(io.Discard, conn)
		}
		os.Stderr.WriteString(fmt.Sprintf("no longer waiting: %v\n", err))
		os.Exit(1)
	}
	n, err := strconv.ParseInt(os.Args[1], 10, 64)
	if err != nil || os.Args[2] != "--json" {
		os.Stderr.WriteString("first line\nno number\n")
		os.Exit(1)
	}
	r := load.Merge()
	r.Model, r.Stopped, r.Engine = load.OpenModel, load.StoppedByIterations, load.Goroutines
	r.Planned, r.Completed, r.Ops, r.Duration, r.Concurrency = n, n, n, time.Second, 1
	if n == incomplete {
		r.Planned, r.Unfinished = n+50, 50
	}
	for range n {
		r.Response.Record(time.Millisecond)
		r.Service.Record(time.Millisecond)
		r.StartLag.Record(0)
	}
	doc := &report.Document{Schema: report.Schema, Command: "test"}
	doc.Results = append(doc.Results, report.Result{Cell: trial.Cell{Result: r}})
	doc.Derive()
	if doc.Write(os.Stdout) != nil || n == incomplete {
		os.Exit(1)
	}
}

func measured(t *testing.T, ctx context.Context, one, other string, more ...string) (*report.Document, error) {
	t.Helper()
	t.Setenv(measuring, "1")
	f, err := Parse("x.yaml", []byte("id: x\ntitle: x\narms: {one: {document: "+one+"}, other: {document: "+other+"}}\n"+
		"compare: {baseline: one, rounds: 6, metrics: throughput_per_s}\nexpect: errors == 0\n"+strings.Join(more, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	doc := new(report.Document)
	return doc, f.Experiment("").Run(ctx, Options{Self: []string{os.Args[0]}}, doc)
}

func TestDocumentsAreCompared(t *testing.T) {
	doc, err := measured(t, t.Context(), "1000", "1300")
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Comparisons) != 1 || math.Abs(doc.Comparisons[0].Ratio-1.3) > 1e-12 || len(doc.Trials[0].Rounds) != 12 {
		t.Errorf("comparisons %+v", doc.Comparisons)
	}
}

// What a command has found incomplete is refused with its reason, not lost: 50 of 1049
// are 4.8%, which the file may allow.
func TestIncompleteDocuments(t *testing.T) {
	for allowed, refused := range map[string]bool{"1%": true, "5%": false} {
		doc, err := measured(t, t.Context(), "1000", "999", "load: {max_unfinished: "+allowed+"}")
		if err != nil {
			t.Fatal(err)
		}
		c, held := doc.Comparisons[0], doc.Experiments[0].Expectations[0].Held
		if c.Reason.Is(finding.Incomplete) != refused || (c.CandidateValue == 0) != refused || held == refused {
			t.Errorf("%s: comparison %+v, expectation held %v", allowed, c, held)
		}
	}
}

// The rounds of a single command can also be stored and read again.
func TestOneDocument(t *testing.T) {
	t.Setenv(measuring, "1")
	f, err := Parse("x.yaml", []byte("id: x\ntitle: x\narms: {one: {document: 1000}}\ncompare: {rounds: 2}\nexpect: errors == 0\n"))
	if err != nil {
		t.Fatal(err)
	}
	doc := &report.Document{Schema: report.Schema, Command: "test"}
	if err := f.Experiment("").Run(t.Context(), Options{Self: []string{os.Args[0]}}, doc); err != nil {
		t.Fatal(err)
	}
	var stored bytes.Buffer
	if err := doc.Write(&stored); err != nil {
		t.Fatal(err)
	}
	if again, err := report.Read(&stored); err != nil || len(again.Results) != 1 || again.Results[0].Completed != 2000 {
		t.Errorf("%v: %+v", err, again)
	}
}

func TestCommandThatFails(t *testing.T) {
	if _, err := measured(t, t.Context(), "1000", "none"); err == nil || !strings.HasSuffix(err.Error(), "other: exit status 1: no number") {
		t.Errorf("error %v", err)
	}
}

func TestCommandIsInterrupted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	began := make(chan net.Conn, 1)
	go func() {
		defer cancel()
		defer close(began)
		if conn, err := l.Accept(); err == nil {
			began <- conn
		}
	}()
	doc, err := measured(t, ctx, "wait "+l.Addr().String(), "1000")
	l.Close()
	conn := <-began
	if conn == nil {
		t.Fatalf("the command never ran: %v", err)
	}
	conn.Close()
	if err == nil || doc.Experiments[0].Status != "interrupted" {
		t.Errorf("error %v, status %s", err, doc.Experiments[0].Status)
	}
}
