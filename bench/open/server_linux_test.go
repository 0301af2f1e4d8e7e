package main

import (
	"net/http"
	"testing"
	"time"
)

func TestLateness(t *testing.T) {
	const ms = time.Millisecond
	var even, pairs, slow []time.Duration
	for k := range 1000 {
		even = append(even, time.Hour+time.Duration(k)*ms)
		pairs = append(pairs, time.Duration(k|1)*ms)                // 0 and 1 at 1, 2 and 3 at 3, …
		slow = append(slow, time.Duration(k)*1001*time.Microsecond) // 1 µs later each
	}
	for _, tt := range []struct {
		name     string
		arrivals []time.Duration
		p50, p99 float64
	}{
		{"on time", even, 0, 0},
		{"in pairs, of which one is late by a period", pairs, 1000, 1000},
		{"too slow", slow, 490, 980}, // 1 µs for each after the tenth
	} {
		l := lateness(tt.arrivals, 1000)
		if p50, p99 := l.at(0.5), l.at(0.99); p50 != tt.p50 && p50+1 < tt.p50 || p99 < tt.p99-1 || p99 > tt.p99+1 {
			t.Errorf("%s: %v and %v, want %v and %v", tt.name, p50, p99, tt.p50, tt.p99)
		}
	}
}

func TestServerStampsEachRequest(t *testing.T) {
	s, err := serve()
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	before := time.Now()
	for range 5 {
		answer, err := http.Get(s.url)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	stamps := s.stamps()
	if len(stamps) != 5 {
		t.Fatalf("%d stamps, want 5", len(stamps))
	}
	last := time.Unix(0, int64(stamps[4]))
	if last.Before(before.Add(-time.Second)) || last.After(time.Now().Add(time.Second)) {
		t.Errorf("the last came %v, between %v and now", last, before)
	}
	if s.forget(); len(s.stamps()) != 0 {
		t.Error("stamps remain")
	}
}
