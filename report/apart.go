package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"contend/load"
	"contend/trial"
)

// PublishedCommand is the Command of a document that holds published figures.
const PublishedCommand = "published"

// A Source is a stored document that this one was computed from.
type Source struct {
	Name        string      `json:"name"`    // of the file
	Version     string      `json:"version"` // of contend
	Command     string      `json:"command"`
	Environment Environment `json:"environment"`
	Notes       []string    `json:"notes,omitempty"`
}

// sentence says where the figures come from.
func (s Source) sentence() string {
	text := s.Name + ": " + s.Environment.sentence(s.Version)
	for _, n := range s.Notes {
		text += " " + n
	}
	return text
}

// Apart is the comparison of two arms from different documents.
type Apart struct {
	Place
	trial.Apart
}

// A Stored is a document with the name of its file.
type Stored struct {
	Name string
	*Document
}

// AddStored compares two stored documents, baseline first. If each has one arm,
// those two are compared; otherwise arms of the same name in the same part of the
// same experiment. d must be empty. how holds Metrics, Margin and Confidence.
// Arms without a counterpart are listed in d.Notes; if no arm has one, AddStored
// returns an error.
func (d *Document) AddStored(base, cand Stored, how trial.Apart) error {
	for _, s := range []Stored{base, cand} {
		if len(s.Sources) > 0 {
			return fmt.Errorf("%s is itself a comparison of documents: compare those that it names", s.Name)
		}
		if len(s.Counts) > 0 {
			return fmt.Errorf("%s has instructions that were counted (--count): these are compared within one document alone", s.Name)
		}
		d.Sources = append(d.Sources, Source{Name: s.Name, Version: s.Version, Command: s.Command,
			Environment: s.Environment, Notes: s.Notes})
	}
	for _, pair := range d.matches(base, cand) {
		a := how
		a.Baseline, a.Candidate = pair[0].Side, pair[1].Side
		if pair[0].paced() && pair[1].paced() {
			a.Metrics = trial.PacedMetrics(how.Metrics)
		}
		a.Baseline.Arm, a.Candidate.Arm = namesApart(pair, base.Name, cand.Name)
		d.Apart = append(d.Apart, Apart{pair[0].Place, a})
	}
	d.addExperiments(base.Document)
	d.Derive()
	for _, a := range d.Apart {
		if len(a.Comparisons) == 0 {
			d.Notes = append(d.Notes, fmt.Sprintf("%s and %s have no level of concurrency in common.", a.Baseline.Arm, a.Candidate.Arm))
		}
	}
	if len(d.Comparisons) == 0 {
		return errors.New("nothing of the one document has a counterpart in the other:\n" + strings.Join(d.Notes, "\n"))
	}
	return nil
}

// side is one arm of a stored document.
type side struct {
	Place
	trial.Side
}

func (s side) paced() bool {
	return !slices.ContainsFunc(s.Rounds, func(c trial.Cell) bool { return c.Model != load.OpenModel })
}

func (s side) is(o side) bool { return s.Place == o.Place && s.Arm == o.Arm }

// matches pairs the arms of two documents and notes what is left over.
func (d *Document) matches(base, cand Stored) [][2]side {
	bases, cands := base.sides(), cand.sides()
	if len(bases) == 1 && len(cands) == 1 {
		bases[0].Place = Place{}
		return [][2]side{{bases[0], cands[0]}}
	}
	var pairs [][2]side
	for _, b := range bases {
		if i := slices.IndexFunc(cands, b.is); i >= 0 {
			pairs = append(pairs, [2]side{b, cands[i]})
			cands = slices.Delete(cands, i, i+1)
		} else {
			d.noteSingle(b, base.Name)
		}
	}
	for _, c := range cands {
		d.noteSingle(c, cand.Name)
	}
	return pairs
}

func (d *Document) noteSingle(s side, file string) {
	at := strings.Trim(s.Experiment+"/"+s.Part, "/")
	if at != "" {
		at = " of " + at
	}
	d.Notes = append(d.Notes, fmt.Sprintf("Only in %s: %s%s.", file, cmp.Or(s.Arm, "a variant without a name"), at))
}

// namesApart tells the arms apart, by the names of their files if need be.
func namesApart(pair [2]side, base, cand string) (string, string) {
	names := [2]string{pair[0].Arm, pair[1].Arm}
	if names[0] != names[1] && names[0] != "" && names[1] != "" {
		return names[0], names[1]
	}
	if base == cand {
		base, cand = base+" (A)", cand+" (B)"
	}
	for i, file := range []string{base, cand} {
		if names[i] == "" {
			names[i] = file
		} else {
			names[i] += " (" + file + ")"
		}
	}
	return names[0], names[1]
}

// sides returns the arms of a document with their rounds: those of trials, the
// visits of curves, and each other result as one round.
func (d *Document) sides() []side {
	var list []side
	derived := d.derivedPlaces()
	for _, t := range d.Trials {
		for _, arm := range t.Arms {
			s := side{t.Place, trial.Side{Arm: arm}}
			for _, c := range t.Rounds {
				if c.Arm == arm {
					s.Rounds = append(s.Rounds, c)
				}
			}
			list = append(list, s)
		}
	}
	for _, c := range d.Curves {
		list = append(list, side{c.Place, trial.Side{Arm: c.Arm, Rounds: slices.Clone(c.Visits)}})
	}
	for _, r := range d.Results {
		if derived[r.Place] {
			continue
		}
		s := side{r.Place, trial.Side{Arm: r.Arm}}
		if r.InProcess != nil {
			s.Arm += ", " + r.InProcess.Kind
		}
		i := slices.IndexFunc(list, s.is)
		if i < 0 {
			i = len(list)
			list = append(list, s)
		}
		r.Round = 1
		list[i].Rounds = append(list[i].Rounds, r.Cell)
	}
	return slices.DeleteFunc(list, func(s side) bool { return len(s.Rounds) == 0 })
}

// addExperiments names the experiments and parts that something was compared in.
func (d *Document) addExperiments(base *Document) {
	for _, e := range base.Experiments {
		found := Experiment{ID: e.ID, Title: e.Title, Question: e.Question, Status: "done"}
		for _, p := range e.Parts {
			if slices.ContainsFunc(d.Apart, func(a Apart) bool { return a.Place == Place{e.ID, p.Name} }) {
				found.Parts = append(found.Parts, p)
			}
		}
		if len(found.Parts) > 0 {
			d.Experiments = append(d.Experiments, found)
		}
	}
}

// environmentsDiffer names what else than the servers was different.
func (d *Document) environmentsDiffer() []string {
	if len(d.Sources) != 2 {
		return nil
	}
	a, b := d.Sources[0].Environment, d.Sources[1].Environment
	generatorA, serversA, placedA := a.like()
	generatorB, serversB, placedB := b.like()
	var list []string
	for _, row := range []struct {
		what string
		a, b any
	}{
		{"system", a.OS + "/" + a.Arch, b.OS + "/" + b.Arch}, {"CPU", a.CPU, b.CPU}, {"cores", a.Cores, b.Cores},
		{"CPU limit", a.CPULimit, b.CPULimit}, {"kernel", a.Kernel, b.Kernel}, {"Go", a.Go, b.Go},
		{"GOMAXPROCS", a.GOMAXPROCS, b.GOMAXPROCS},
		{"CPUs of the load generator", generatorA, generatorB}, {"CPUs of the servers", serversA, serversB}, {"placement", placedA, placedB},
	} {
		if row.a != row.b {
			list = append(list, fmt.Sprintf("%s: %v against %v", row.what, row.a, row.b))
		}
	}
	return list
}

// derivedPlaces are those whose results are computed from something else.
func (d *Document) derivedPlaces() map[Place]bool {
	derived := map[Place]bool{}
	for _, t := range d.Trials {
		derived[t.Place] = true
	}
	for _, c := range d.Curves {
		derived[c.Place] = true
	}
	for _, s := range d.Searches {
		derived[s.Place] = true
	}
	for _, a := range d.Apart {
		derived[a.Place] = true
	}
	return derived
}

// deriveApart recomputes the comparisons of stored documents.
func (d *Document) deriveApart() {
	environments := d.environmentsDiffer()
	for i := range d.Apart {
		a := &d.Apart[i]
		a.Environments = environments
		a.Derive()
		d.addDerived(a.Place, a.Results, a.Comparisons)
	}
}
