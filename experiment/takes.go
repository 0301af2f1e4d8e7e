package experiment

import (
	"cmp"
	"time"

	"contend/trial"
)

// What is not known before it runs is taken to be as long as this, to tell how far an
// experiment is: a block whose length is chosen, the start and the end of a process, and a
// command that measures by itself.
const (
	guessedBlock    = 100 * time.Millisecond
	guessedStart    = 200 * time.Millisecond
	guessedDocument = 4 * time.Second
)

// Takes is about how many seconds the experiment takes by its design, more than 0. It is
// for telling how far it is: servers may answer more slowly, and a comparison may end before.
func (e *Experiment) Takes() float64 {
	all := guessedStart.Seconds()
	for _, p := range e.Parts {
		all += p.takes()
	}
	return all
}

// takes is in floating point, as the longest designs are beyond a time.Duration.
func (p Part) takes() float64 {
	arms := float64(len(p.Arms))
	if p.fromDocuments() {
		return arms * float64(cmp.Or(p.Design.Rounds, trial.RepeatedRounds)) * guessedDocument.Seconds()
	}
	d := p.Design
	rounds, levels, pairs, block, warmup := cmp.Or(d.Rounds, trial.UsualRounds), d.Levels, d.Pairs, d.Block, d.Warmup
	if s := p.Sweep; p.Swept {
		rounds, levels, pairs, block, warmup = cmp.Or(s.Visits, trial.RepeatedRounds), s.Levels, 1, s.Block, s.Warmup
	}
	level := warmup.Seconds() + float64(pairs)*cmp.Or(block, guessedBlock).Seconds()
	return arms * float64(rounds) * (guessedStart.Seconds() + float64(max(1, len(levels)))*level)
}
