package gotrace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// What a trace may become: a few bytes of one are a thread, a text or a goroutine.
const (
	// mostBatches bounds the batches that a trace is written in, of up to 64 KiB each: each thread has one
	// at least in each second, and the runtime 10 000 threads at most.
	mostBatches = 100_000
	// mostTables bounds the bytes of stacks, texts and CPU samples; each becomes about ten.
	mostTables = 16 << 20
	// mostNew bounds the goroutines, processors, tasks and regions that appear; each takes a few hundred
	// bytes to the end.
	mostNew = 1_000_000
	// mostMistake bounds what is repeated of what the reader says, which may be all that it has read.
	mostMistake = 200
)

// firstVersion is that of Go which has written traces in batches since.
const firstVersion = 22

// What a batch may begin with (internal/trace/tracev2 of Go).
const (
	eventBatch        = 1
	experimentalBatch = 49
	endOfGeneration   = 52
)

// tablesBegin are what batches begin with that have stacks, texts and samples.
var tablesBegin = []byte{2, 4, 6}

// tooLarge says which part of a trace would be too large, as far as its batches show. At a broken
// batch it stops, as the reader does.
func tooLarge(body []byte) error {
	version := 0
	if _, err := fmt.Fscanf(bytes.NewReader(body), "go 1.%d trace", &version); err == nil && version < firstVersion {
		return fmt.Errorf("it is of Go before 1.%d", firstVersion)
	}
	rest, found := bytes.CutPrefix(body, fmt.Appendf(nil, "go 1.%d trace\x00\x00\x00", version))
	if !found {
		return errors.New("it is no execution trace of Go")
	}
	batches, tables := 0, 0
	for len(rest) > 0 {
		data, after, ok := cutBatch(rest)
		if !ok {
			return nil
		}
		rest = after
		if batches++; batches > mostBatches {
			return fmt.Errorf("it has more than %d batches", mostBatches)
		}
		if len(data) > 0 && slices.Contains(tablesBegin, data[0]) {
			tables += len(data)
		}
		if tables > mostTables {
			return fmt.Errorf("it has stacks and texts of more than %d MiB", mostTables>>20)
		}
	}
	return nil
}

// cutBatch cuts a trace after its first batch.
func cutBatch(trace []byte) (data, after []byte, ok bool) {
	header := 4 // generation, thread, time, length
	switch trace[0] {
	case endOfGeneration:
		return nil, trace[1:], true
	case experimentalBatch:
		header++ // the kind
	case eventBatch:
	default:
		return nil, nil, false
	}
	length, after := uint64(0), trace[1:]
	for range header {
		var n int
		if length, n = binary.Uvarint(after); n <= 0 {
			return nil, nil, false
		}
		after = after[n:]
	}
	if length > uint64(len(after)) {
		return nil, nil, false
	}
	return after[:length], after[length:], true
}

// mistake is what the reader says, or the beginning of it.
func mistake(said any) error {
	text, _, _ := strings.Cut(fmt.Sprint(said), "\n")
	return fmt.Errorf("gotrace: %.*s", mostMistake, text)
}
