package counter

import (
	"strconv"
	"sync/atomic"
	"time"
)

// A stamper renders Unix seconds as RFC 3339 in UTC. It keeps the text of the
// last second it was asked for, so that a busy counter formats once per second.
// The zero value is ready; it may be used concurrently.
type stamper struct {
	last atomic.Pointer[stamp]
}

type stamp struct {
	unix int64
	text string
}

func (s *stamper) text(unix int64) string {
	if last := s.last.Load(); last != nil && last.unix == unix {
		return last.text
	}
	fresh := &stamp{unix: unix, text: time.Unix(unix, 0).UTC().Format(time.RFC3339)}
	s.last.Store(fresh)
	return fresh.text
}

// answerSize is enough for an answer with the largest counter.
const answerSize = 96

// appendAnswer appends the JSON document of one change. Whether the flag is
// set follows from the counter, so the two cannot disagree.
func appendAnswer(dst []byte, c change, lastChanged string) []byte {
	dst = append(dst, `{"counter":`...)
	dst = strconv.AppendInt(dst, c.value, 10)
	if c.value&1 != 0 {
		dst = append(dst, `,"status":true,"lastChanged":"`...)
	} else {
		dst = append(dst, `,"status":false,"lastChanged":"`...)
	}
	dst = append(dst, lastChanged...)
	return append(dst, `"}`...)
}
