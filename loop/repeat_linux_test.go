package loop

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/pace"
)

// A repeating conversation ends a slot as not processed when it reads "later
// slot", and drains as well when it reads "elsewhere slot".
type repeating struct {
	*lines
	repeats *int
}

var errNot = &errkind.Error{Kind: errkind.Closed, Err: errors.New("not processed")}

func (c repeating) Repeat(out []byte, slot int) []byte {
	*c.repeats++
	return c.Start(out, slot)
}

func (repeating) Safe(int) bool { return true }

func (c repeating) Receive(out, in []byte, slots Slots) ([]byte, error) {
	if len(in) == 0 {
		return out, io.ErrUnexpectedEOF
	}
	for line := range bytes.Lines(in) {
		word, slot, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		n, _ := strconv.Atoi(string(slot))
		switch string(word) {
		case "elsewhere":
			slots.Drain()
			slots.End(n, nil, &Unprocessed{errNot})
		case "later":
			slots.End(n, nil, &Unprocessed{errNot})
		default:
			if _, err := c.lines.Receive(nil, line, slots); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

func repeatingConfig(s *server, repeats *int) Config {
	c := s.config(func([]int) Conversation { return repeating{&lines{}, repeats} })
	c.Connections = 1
	return c
}

func TestRepeat(t *testing.T) {
	for _, tt := range []struct {
		word      string
		of        int // requests; the last is not processed
		completed int64
		repeats   int
	}{
		{"later", 3, 12, 6}, // 12 answers are two of three requests: 18, and 6 are repeated
		{"elsewhere", 1, 0, 24},
		{"later", 1, 0, 24}, // each of 12 twice
	} {
		t.Run(fmt.Sprint(tt.word, tt.of), func(t *testing.T) {
			s := serve(t, "tcp", func(_ int, conn net.Conn) {
				n := 0
				requests(conn, func(slot string) bool {
					n++
					answer := slot + " 0"
					if n%tt.of == 0 {
						answer = tt.word + " " + slot
					}
					_, err := fmt.Fprintln(conn, answer)
					return err == nil
				})
			})
			repeats := 0
			for _, pacer := range []*pace.Pacer{nil, pace.Constant(1000)} {
				repeats = 0
				r := run(t, repeatingConfig(s, &repeats), load.Plan{VUs: 1, Iterations: 12, Pacer: pacer, Timeout: testenv.Patience})
				if r.Completed != tt.completed || r.Errored[errkind.Closed] != 12-tt.completed {
					t.Errorf("completed %d, errors %v", r.Completed, r.Errored)
				}
				// The last answer may come just before a repeat.
				if repeats != tt.repeats && repeats != tt.repeats-1 {
					t.Errorf("repeated %d times, want %d", repeats, tt.repeats)
				}
			}
		})
	}
}

// An iteration that waits for its repetition runs into its timeout, and the
// wait counts in its service time.
func TestRepeatTakesItsTime(t *testing.T) {
	const wait = 50 * time.Millisecond
	s := serve(t, "tcp", func(n int, conn net.Conn) {
		asked := 0
		requests(conn, func(slot string) bool {
			switch asked++; {
			case n > 0:
				fmt.Fprintln(conn, slot+" 0")
			case asked == 1:
				fmt.Fprintln(conn, "elsewhere "+slot)
			default: // the connection drains until this one is answered
				time.Sleep(wait)
				fmt.Fprintln(conn, slot+" 0")
			}
			return true
		})
	})
	for timeout, errored := range map[time.Duration]int64{time.Minute: 0, wait / 5: 1} {
		repeats := 0
		plan := load.Plan{VUs: 2, Iterations: 2, Timeout: timeout}
		r := run(t, repeatingConfig(s, &repeats), plan)
		if timeout == time.Minute && (r.Completed != 2 || r.Service.Quantile(0) < wait/2) {
			t.Errorf("completed %d, the quickest in %v, want 2, %v", r.Completed, r.Service.Quantile(0), wait)
		}
		if r.Errored[errkind.Timeout] < errored {
			t.Errorf("errors %v, want %d late", r.Errored, errored)
		}
		s.accepted.Store(0)
	}
}
