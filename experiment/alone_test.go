package experiment

import (
	"errors"
	"testing"

	"contend/protocol"
)

// Arms are alive one at a time if two servers of ours insist on one port that cannot be
// moved.
func TestAlone(t *testing.T) {
	subjects := map[string]Subject{"a": {Command: "a"}, "b": {Command: "b"}, "serves": {Serve: "counter"}, "runs": {URL: "localhost:80"}}
	arm := func(subject, url string) Arm { return Arm{Subject: subject, Target: protocol.At(url)} }
	const fixed, other, given = "http://localhost:80/", "http://localhost:81/", "http://{{addr}}/"
	refused := errors.New("seccomp is refused")
	for name, tt := range map[string]struct {
		arms    map[string]Arm
		movable error
		want    string
	}{
		"two":            {map[string]Arm{"A": arm("a", fixed), "B": arm("b", fixed)}, refused, "a and b insist on port 80, which cannot be moved here (seccomp is refused)"},
		"ours":           {map[string]Arm{"A": arm("a", fixed), "B": arm("serves", fixed)}, refused, "a and serves insist on port 80, which cannot be moved here (seccomp is refused)"},
		"of three":       {map[string]Arm{"A": arm("a", fixed), "B": arm("serves", given), "C": arm("b", fixed)}, refused, "a and b insist on port 80, which cannot be moved here (seccomp is refused)"},
		"moved":          {map[string]Arm{"A": arm("a", fixed), "B": arm("b", fixed)}, nil, ""},
		"one process":    {map[string]Arm{"A": arm("a", fixed), "B": arm("a", fixed+"x")}, refused, ""},
		"own ports":      {map[string]Arm{"A": arm("a", fixed), "B": arm("b", other)}, refused, ""},
		"one insists":    {map[string]Arm{"A": arm("a", fixed), "B": arm("b", given)}, refused, ""},
		"one is running": {map[string]Arm{"A": arm("a", fixed), "B": arm("runs", fixed)}, refused, ""},
	} {
		e := &Experiment{Subjects: subjects, Parts: []Part{{Arms: tt.arms}}}
		r := newRunner(e, Options{Movable: func() error { return tt.movable }}, nil)
		if got := r.alone(e.Parts[0]); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
