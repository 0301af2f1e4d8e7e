package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"
)

func TestProducerWaitsAtItsLimit(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		p := newProducer(t, r, ProducerConfig{Limit: 1000, Partitions: 2})
		const n = 6000
		done := make(chan error, 1)
		go func() { done <- p.Add(t.Context(), frames(0, n)) }()
		// A partition may hold 1000 ÷ 2; then the producer writes no more.
		until(t, "a partition is full", func() bool { return max(length(t, r, p.keys[0]), length(t, r, p.keys[1])) >= 500 })
		if all := length(t, r, p.keys[0]) + length(t, r, p.keys[1]); all > 1000+maxPipeline { // the limit, and what one pipeline brings on top
			t.Errorf("%d entries, limit 1000", all)
		}
		select {
		case err := <-done:
			t.Errorf("it did not wait: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
		c, _ := startIntake(t, r, IntakeConfig{Partitions: 8}, true)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		until(t, "all are read", func() bool { return c.count() == n })
		if got := partitionsOf(c); !slices.Equal(got, []int{0, 1}) {
			t.Errorf("partitions %v: who comes first decides", got)
		}
	})
}

// While one partition is full, uplinks of the others are written, whatever came before them.
func TestAFullPartitionHoldsUpNoOther(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		p := newProducer(t, r, ProducerConfig{Limit: 20, Partitions: 2})
		at := func(i int) int { return partitionOf(frame(i).PHY, 2) }
		one, other := 0, 1
		for at(other) == at(one) {
			other++
		}
		loud := slices.Repeat(frames(one, one+1), 10)
		if err := p.Add(t.Context(), loud); err != nil { // 20 ÷ 2 are enough
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- p.Add(t.Context(), append(loud, frame(other))) }()
		until(t, "the other one is written", func() bool { return length(t, r, p.keys[at(other)]) == 1 })
		if n := length(t, r, p.keys[at(one)]); n != 10 {
			t.Errorf("the full one has %d entries", n)
		}
		c, _ := startIntake(t, r, IntakeConfig{}, true)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		until(t, "all are read", func() bool { return c.in.Stats().Acked == 21 })
	})
}

func TestProducerSaysWhatItDidNotWrite(t *testing.T) {
	r := openURL(t, "")
	p := newProducer(t, r, ProducerConfig{Limit: 8, Partitions: 1})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() { done <- p.Add(ctx, frames(0, 2000)) }()
	until(t, "the first pipeline is written", func() bool { return p.length[0].entries.Load() == maxPipeline })
	cancel()
	err := <-done
	if !errors.Is(err, context.Canceled) || err.Error()[:len("queue: 1488 uplinks not written")] != "queue: 1488 uplinks not written" {
		t.Errorf("%v", err)
	}
}

func TestCopiesOfAFrameMeet(t *testing.T) {
	spread := map[int]int{}
	for i := range 8000 {
		u := frame(i)
		p := partitionOf(u.PHY, 8)
		if p != partitionOf(slices.Clone(u.PHY), 8) {
			t.Fatal("one frame, two partitions")
		}
		spread[p]++
	}
	for p := range 8 { // binomial: 1000 with a standard deviation of √(8000·⅛·⅞) = 30
		if spread[p] < 800 || spread[p] > 1200 {
			t.Errorf("partition %d has %d of 8000", p, spread[p])
		}
	}
}

func TestPartitionsOutOfRange(t *testing.T) {
	r := openURL(t, "")
	for _, n := range []int{-1, maxPartitions + 1} {
		if _, err := NewProducer(t.Context(), r, ProducerConfig{Partitions: n}); err == nil {
			t.Errorf("%d partitions are taken", n)
		}
	}
	must(t, r, "SET", keyPartitions, "many")
	if _, err := NewIntake(t.Context(), r, IntakeConfig{Instance: "a b", Batch: -1}); err == nil {
		t.Error("a bad configuration is taken")
	}
	if _, err := NewIntake(t.Context(), r, IntakeConfig{}); err == nil {
		t.Error("many partitions are taken")
	}
}

func TestRefused(t *testing.T) {
	r := openURL(t, "")
	must(t, r, "SET", "key", "text")
	wrongType := r.do(t.Context(), "LPOP", "key").Error()
	for _, test := range []struct {
		err  error
		want bool
	}{
		{wrongType, true},
		{fmt.Errorf("adding: %w", wrongType), true},
		{errReply("WRONGTYPE Operation against a key holding the wrong kind of value"), true},
		{errReply("MOVED 1234 127.0.0.1:7000"), true}, // one node of a cluster whose other nodes are not known
		{errReply("OOM command not allowed when used memory"), false},
		{io.EOF, false}, // no reply
	} {
		if got := r.refused(test.err); got != test.want {
			t.Errorf("%v: %t, want %t", test.err, got, test.want)
		}
	}
}
