package experiment

import (
	"cmp"
	"time"

	"contend/count"
	"contend/trial"
)

// What is not known before it runs is assumed to take this long, to show the progress of
// an experiment: a block whose length is chosen, the start and the end of a process, a
// repetition of a variant whose instructions are counted, and a command that measures by itself.
const (
	guessedBlock    = 100 * time.Millisecond
	guessedStart    = 200 * time.Millisecond
	guessedCount    = 3 * time.Second
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

// DiagnosisTakes is about how long it takes to say why those of its variants differ that are compared.
func (e *Experiment) DiagnosisTakes() (all time.Duration) {
	for _, p := range e.Parts {
		all += p.diagnosisTakes()
	}
	return all
}

// diagnosisTakes is that of a part.
func (p Part) diagnosisTakes() time.Duration {
	if !p.isDiagnosed() {
		return 0
	}
	return trial.DiagnosisTakes(len(p.Arms), p.Design)
}

// diagnosisTakes is that of a part in seconds, if it is asked for.
func (r *runner) diagnosisTakes(p Part) float64 {
	if !r.options.Why {
		return 0
	}
	return p.diagnosisTakes().Seconds()
}

// isDiagnosed reports whether a diagnosis can explain why the part's arms differ: they are driven and compared here.
func (p Part) isDiagnosed() bool { return !p.fromDocuments() && !p.Swept && len(p.Arms) > 1 }

// takes is in floating point, as the longest designs are beyond a time.Duration.
func (p Part) takes() float64 {
	arms := float64(len(p.Arms))
	if p.fromDocuments() {
		return arms * float64(cmp.Or(p.Design.Rounds, trial.RepeatedRounds)) * guessedDocument.Seconds()
	}
	d := p.Design
	if p.Count.Count {
		counted := arms * float64(cmp.Or(d.Rounds, count.Repetitions)) * guessedCount.Seconds()
		return min(counted, cmp.Or(d.Duration.Seconds(), counted))
	}
	rounds, levels, pairs, block, warmup := cmp.Or(d.Rounds, trial.PlannedRounds), d.Levels, d.Pairs, d.Block, d.Warmup
	if s := p.Sweep; p.Swept {
		rounds, levels, pairs, block, warmup = cmp.Or(s.Visits, trial.RepeatedRounds), s.Levels, 1, s.Block, s.Warmup
	}
	level := warmup.Seconds() + float64(pairs)*cmp.Or(block, guessedBlock).Seconds()
	return arms * float64(rounds) * (guessedStart.Seconds() + float64(max(1, len(levels)))*level)
}
