package gotrace

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/internal/testenv"
)

// What events begin with (internal/trace/tracev2 of Go).
const (
	text          = 5
	stack         = 3
	frequency     = 8
	procStatus    = 13
	goStart       = 16
	goStatus      = 25
	taskBegin     = 40
	regionBegin   = 42
	syncBatch     = 50
	clockSnapshot = 51
)

func numbers(list ...uint64) (b []byte) {
	for _, n := range list {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// batched is what a thread has written, after what each batch of it begins with.
func batched(thread uint64, begin, data []byte) (b []byte) {
	b = append(numbers(eventBatch, 1, thread, 1, uint64(len(begin)+len(data))), begin...)
	return append(b, data...)
}

// traceOf is a trace with a generation of so many batches of one thread, and of others after it.
func traceOf(version string, batches ...[]byte) []byte {
	clock := numbers(syncBatch, frequency, 1e9, clockSnapshot, 0, 1, 1, 1)
	body := append([]byte("go 1."+version+" trace\x00\x00\x00"), batched(0, nil, clock)...)
	return append(append(body, bytes.Join(batches, nil)...), endOfGeneration)
}

// filled are batches of n pieces that are made of their number.
func filled(n int, begin []byte, piece func(i uint64) []byte) (batches []byte) {
	const mostData = 60_000
	var data []byte
	for i := range n {
		data = append(data, piece(uint64(i+1))...)
		if len(data) > mostData || i == n-1 {
			batches, data = append(batches, batched(1, begin, data)...), data[:0]
			if len(begin) > 1 {
				begin = nil // events that happen once each
			}
		}
	}
	return batches
}

// threads are n that have written nothing.
func threads(n int) (batches []byte) {
	for i := range n {
		batches = append(batches, batched(uint64(i), nil, nil)...)
	}
	return batches
}

// bounded calls what reads traces, and sees how much memory it took on the way.
func bounded(t *testing.T, read func()) {
	t.Helper()
	if took := testenv.Allocated(read); took > 1<<30 {
		t.Errorf("it took %d MiB", took>>20)
	}
}

// A trace takes memory by its size, not by what it says of itself, and a part that is too large is named.
func TestReadIsBounded(t *testing.T) {
	const tooMany, tooMuch = "it has more than 1000000 goroutines, processors, tasks and regions", "it has stacks and texts of more than 16 MiB"
	runs := numbers(procStatus, 0, 0, 1, goStatus, 0, 1, 1, 2)
	same := bytes.Repeat(append(numbers(text, 1, 1000), strings.Repeat("x", 1000)...), 2)
	for _, c := range []struct {
		name, want string
		body       []byte
	}{
		{"threads", "it has more than 100000 batches", traceOf("26", threads(mostBatches))},
		{"texts", tooMuch, traceOf("26", filled(4<<20, []byte{4}, func(i uint64) []byte { return numbers(text, i, 0) }))},
		{"stacks", tooMuch, traceOf("26", filled(4<<20, []byte{2}, func(i uint64) []byte { return numbers(stack, i, 0) }))},
		{"goroutines", tooMany, traceOf("26", filled(mostNew+1, nil, func(i uint64) []byte { return numbers(goStatus, 0, i, 0, 4) }))},
		{"processors", tooMany, traceOf("26", filled(mostNew+1, nil, func(i uint64) []byte { return numbers(procStatus, 0, i, 2) }))},
		{"tasks", tooMany, traceOf("26", filled(mostNew+1, runs, func(i uint64) []byte { return numbers(taskBegin, 0, i, 0, 0, 0) }))},
		{"regions", tooMany, traceOf("26", filled(mostNew+1, runs, func(uint64) []byte { return numbers(regionBegin, 0, 0, 0, 0) }))},
		{"a text twice", "multiple strings with the same ID: id=1, new=" + strings.Repeat("x", mostMistake-45), traceOf("26", batched(1, []byte{4}, same))},
		{"threads that wait", "broken trace: failed to advance: frontier:", traceOf("26", waiting1000())},
		{"an old one", "it is of Go before 1.22", traceOf("21")},
		{"a signed one", "it is no execution trace of Go", traceOf("+26")},
		{"a new one", "unknown or unsupported trace version go 1.99", traceOf("99")},
	} {
		t.Run(c.name, func(t *testing.T) {
			bounded(t, func() {
				if got, err := Read(c.body); got != nil || err == nil || err.Error() != "gotrace: "+c.want {
					t.Errorf("%+v, %v; want %s", got, err, c.want)
				}
			})
		})
	}
}

// waiting1000 are threads whose goroutine has not been created.
func waiting1000() (batches []byte) {
	for i := range 1000 {
		batches = append(batches, batched(uint64(i), nil, numbers(goStart, 0, 7, 7))...)
	}
	return batches
}

// Batches are cut as the runtime writes them, to the end.
func TestCutBatch(t *testing.T) {
	rest := traced(t, 10*time.Millisecond)[len("go 1.26 trace\x00\x00\x00"):]
	tables := 0
	for len(rest) > 0 {
		data, after, ok := cutBatch(rest)
		if !ok {
			t.Fatalf("no batch begins with % x", rest[:min(len(rest), 16)])
		}
		if len(data) > 0 && slices.Contains(tablesBegin, data[0]) {
			tables++
		}
		rest = after
	}
	if tables < 2 {
		t.Errorf("%d tables, want those of stacks and of texts at least", tables)
	}
}
