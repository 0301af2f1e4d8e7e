// Package recorded reads what equal servers showed next to each other, as bench/verdicts records it.
package recorded

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Noise is what one server showed compared with another just like it, at one
// length of the blocks. In each round both servers were fresh.
type Noise struct {
	Length time.Duration
	Rounds [][]Pair
}

// A pair is two blocks in a row, one of each server.
type Pair [2]Block

// A Block is one recorded stretch of one of two equal servers.
type Block struct {
	Arm       string // a or b
	Duration  time.Duration
	Ops       int64
	ServerCPU time.Duration
}

// Columns of the raw series; a line for each block, in the order in which they
// were driven. Lines that begin with # say where and when.
const Columns = "block_ms,round,pair,arm,duration_us,ops,server_cpu_us"

// A position is where a block belongs.
type position struct{ length, round, pair int64 }

// Parse reads the raw series.
func Parse(from io.Reader) ([]Noise, error) {
	r := csv.NewReader(from)
	r.Comment, r.FieldsPerRecord, r.ReuseRecord = '#', strings.Count(Columns, ",")+1, true
	header, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("noise: %w", err)
	}
	if got := strings.Join(header, ","); got != Columns {
		return nil, fmt.Errorf("noise: the columns are %q; expected %q", got, Columns)
	}
	s := &series{}
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("noise: %w", err) // names the line
		}
		at, b, err := parseBlock(fields)
		if err == nil {
			err = s.add(at, b)
		}
		if err != nil {
			line, _ := r.FieldPos(0)
			return nil, fmt.Errorf("noise: line %d: %w", line, err)
		}
	}
	if s.half {
		return nil, fmt.Errorf("noise: the last pair has one block")
	}
	if len(s.list) == 0 {
		return nil, fmt.Errorf("noise: there are no blocks")
	}
	return s.list, nil
}

func parseBlock(fields []string) (position, Block, error) {
	var numbers [7]int64
	var errs []error
	for i, name := range strings.Split(Columns, ",") {
		if name == "arm" {
			if fields[i] != "a" && fields[i] != "b" {
				errs = append(errs, fmt.Errorf("arm is %q; expected a, b", fields[i]))
			}
			continue
		}
		least := int64(1)
		if name == "ops" || name == "server_cpu_us" {
			least = 0 // a server that the kernel did not let run
		}
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil || n < least || n > 1e12 {
			errs = append(errs, fmt.Errorf("%s is %q; expected whole numbers from %d to 10¹²", name, fields[i], least))
		}
		numbers[i] = n
	}
	micros := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
	return position{numbers[0], numbers[1], numbers[2]},
		Block{fields[3], micros(numbers[4]), numbers[5], micros(numbers[6])}, errors.Join(errs...)
}

// series collects blocks in their order.
type series struct {
	list []Noise
	last position
	half bool // the last pair waits for its second block
}

func (s *series) add(at position, b Block) error {
	if s.half {
		rounds := s.list[len(s.list)-1].Rounds
		pairs := rounds[len(rounds)-1]
		open := &pairs[len(pairs)-1]
		if at != s.last || b.Arm == open[0].Arm {
			return fmt.Errorf("pair %d of round %d has one block only", s.last.pair, s.last.round)
		}
		open[1], s.half = b, false
		return nil
	}
	length := time.Duration(at.length) * time.Millisecond
	if len(s.list) == 0 || at.length != s.last.length {
		if slices.ContainsFunc(s.list, func(n Noise) bool { return n.Length == length }) {
			return fmt.Errorf("blocks of %v are in two places", length)
		}
		s.list = append(s.list, Noise{Length: length})
		s.last = position{length: at.length}
	}
	n := &s.list[len(s.list)-1]
	switch next := (position{at.length, s.last.round, s.last.pair + 1}); at {
	case next:
		n.Rounds[len(n.Rounds)-1] = append(n.Rounds[len(n.Rounds)-1], Pair{b})
	case position{at.length, s.last.round + 1, 1}:
		n.Rounds = append(n.Rounds, []Pair{{b}})
	default:
		return fmt.Errorf("round %d, pair %d does not follow on round %d, pair %d", at.round, at.pair, s.last.round, s.last.pair)
	}
	s.last, s.half = at, true
	return nil
}
