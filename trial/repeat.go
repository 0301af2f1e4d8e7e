package trial

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
)

// A Job is an alternative that measures itself, such as a program that writes a
// document.
type Job struct {
	Name string
	Run  func(ctx context.Context) (Cell, error)
}

// Repeat runs every job once a round, in random order, and compares them with
// the first, round by round; one job alone is repeated and compared with
// nothing. What a job measured is its one block of the round: Block, Pairs,
// Warmup and Levels of the design are not asked, and Duration, Precision and Probe
// neither: it ends after Rounds, RepeatedRounds unless they are given.
// On an error, and when ctx is done, the trials so far are returned with it.
func Repeat(ctx context.Context, jobs []Job, d Design, observe func(Progress)) (*Trials, error) {
	d.Rounds = cmp.Or(d.Rounds, RepeatedRounds)
	t := &Trials{Design: d, Weighted: true}
	for _, job := range jobs {
		t.Arms = append(t.Arms, job.Name)
	}
	random := rand.New(rand.NewPCG(d.Seed, 1))
	var err error
	for n := 1; n <= d.Rounds && err == nil; n++ {
		for i, j := range random.Perm(len(jobs)) {
			if observe != nil {
				done := float64((n-1)*len(jobs)+i) / float64(d.Rounds*len(jobs))
				observe(Progress{Done: done, Label: fmt.Sprintf("round %d of %d, %s", n, d.Rounds, jobs[j].Name), Between: true})
			}
			if err = t.run(ctx, jobs[j], n, i+1); err != nil {
				break
			}
		}
	}
	t.Derive()
	return t, err
}

// run adds what a job measured in a round.
func (t *Trials) run(ctx context.Context, job Job, round, order int) error {
	cell, err := job.Run(ctx)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", job.Name, err)
	}
	if len(t.Rounds) == 0 {
		t.Design.Block, t.Design.Pairs, t.Design.Levels = cell.Duration, 1, []int{cell.Concurrency}
	}
	if level := t.Design.Levels[0]; cell.Concurrency != level {
		return fmt.Errorf("%s: its concurrency is %d, where an earlier run had %d", job.Name, cell.Concurrency, level)
	}
	cell.Arm, cell.Round = job.Name, round
	block := cell
	block.Pair, block.Order, block.Stretch = 1, order, 1
	t.Rounds, t.Blocks = append(t.Rounds, cell), append(t.Blocks, block.block())
	return nil
}
