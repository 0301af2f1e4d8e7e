package cli

import (
	"reflect"
	"testing"

	"contend/experiment"
)

func TestSurroundings(t *testing.T) {
	arms := []arm{{"A", "./a"}, {"B", "./b"}}
	subjects := map[string]experiment.Subject{"A": {Command: "./a"}, "B": {Command: "./b"}}
	s := surroundings{Env: []string{"B:MODE=new", "MODE=old", "URL=http://x:1/"}, Dir: []string{"A:/srv/a", "/srv"}}
	if err := s.add(arms, subjects); err != nil {
		t.Fatal(err)
	}
	want := map[string]experiment.Subject{
		"A": {Command: "./a", Dir: "/srv/a", Env: []string{"MODE=old", "URL=http://x:1/"}},
		"B": {Command: "./b", Dir: "/srv", Env: []string{"MODE=old", "URL=http://x:1/", "MODE=new"}}, // the last one counts
	}
	if !reflect.DeepEqual(subjects, want) {
		t.Errorf("got %+v, want %+v", subjects, want)
	}
	err := surroundings{Env: []string{"C:MODE=new"}}.add(arms, subjects)
	if err == nil || err.Error() != `--env is "C:MODE=new", which names no command; expected NAME=VALUE, perhaps after one of A, B and a colon` {
		t.Errorf("error is %v", err)
	}
}
