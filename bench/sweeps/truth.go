package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"contend/bench/internal/paired"
	"contend/usl"
)

// The levels of a curve that is measured for long, and about how long a round of them takes, each measured for a second.
const (
	truthLevels = "1,2,3,4,5,6,7,8,10,12,14,16,20,24,32,48,64"
	truthBlock  = "1s"
	truthRound  = 22 * time.Second
)

// A truth is the knee of such a curve.
type truth struct {
	Server  string       `json:"server"`
	Knee    usl.Knee     `json:"knee"`
	Levels  []truthLevel `json:"levels"`
	Command string       `json:"command"`
	Date    string       `json:"date"`
	Cores   int          `json:"cores"`
}

type truthLevel struct {
	Concurrency int           `json:"concurrency"`
	Runs        int           `json:"runs"`
	PerSec      float64       `json:"throughput_per_s"`
	Median      time.Duration `json:"response_p50_ns"`
}

// truths are the knees of the servers, as built or as measured last.
func (b *bench) truths() (map[string]float64, error) {
	measured, err := paired.Kept[truth](b.truthFile)
	knees := map[string]float64{}
	for _, t := range measured {
		knees[t.Server] = t.Knee.N.Value
	}
	for _, s := range knowns {
		if s.knee > 0 {
			knees[s.name] = s.knee
		}
	}
	return knees, err
}

// measureTruths measures the curve of each server that is chosen and whose knee is not known by construction: its levels in
// random order, in as many rounds with a fresh process each as there is time for.
func (b *bench) measureTruths(ctx context.Context, w io.Writer) error {
	servers, err := b.chosen()
	if err != nil {
		return err
	}
	rounds := strconv.Itoa(int(max(3, b.truth/truthRound)))
	for _, s := range servers {
		if s.knee > 0 {
			continue
		}
		doc, err := b.swept(ctx, s, "--levels", truthLevels, "--visits", rounds, "--block", truthBlock, "-d", "0s")
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		c := doc.Curves[0]
		if c.Knee == nil {
			return fmt.Errorf("%s: no knee came of it", s.name)
		}
		t := truth{Server: s.name, Knee: *c.Knee, Command: fmt.Sprintf("go run ./bench/sweeps -truth %v -only %s", b.truth, s.name),
			Date: time.Now().UTC().Format(time.DateOnly), Cores: doc.Environment.Cores}
		runs := map[int]int{}
		for _, v := range c.Visits {
			runs[v.Concurrency]++
		}
		for _, cell := range c.Results {
			t.Levels = append(t.Levels, truthLevel{cell.Concurrency, runs[cell.Concurrency], cell.ThroughputPerSec, cell.Response.Quantile(0.5)})
		}
		if err := paired.Keep(b.truthFile, t); err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: knee %g, %d levels, %d runs, load average %s\n", s.name, t.Knee.N.Value, len(t.Levels), len(c.Visits), paired.LoadAverage())
	}
	return nil
}

// chosen are the servers of -only.
func (b *bench) chosen() ([]known, error) {
	return paired.Chosen(*b.only, knowns, func(s known) string { return s.name })
}
