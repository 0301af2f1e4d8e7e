package cli

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"contend/load"
	"contend/search"
	"contend/setting"
	"contend/sweep"
	"contend/trial"
)

// Another process of this program is given what this one was: an element of a
// repeated list may hold commas.
func TestFlagArguments(t *testing.T) {
	list := setting.Of(struct {
		Header []string `flag:"header" list:"repeat"`
		Levels []int    `flag:"levels"`
		Name   string   `flag:"name"`
	}{})
	given, read := setting.Values{}, setting.Values{}
	for _, f := range setting.Flags(list, given) {
		for _, text := range map[string][]string{"header": {"A: b, c", "D: e"}, "levels": {"1,2", "3"}, "name": {"x", "a,b"}}[f.Setting.Flag] {
			_ = f.Set(text)
		}
	}
	arguments := flagArguments(given)
	if want := []string{"--header=A: b, c", "--header=D: e", "--levels=1", "--levels=2", "--levels=3", "--name=a,b"}; !reflect.DeepEqual(arguments, want) {
		t.Errorf("got %q, want %q", arguments, want)
	}
	for _, f := range setting.Flags(list, read) {
		for _, argument := range arguments {
			if name, text, _ := strings.Cut(argument, "="); name == "--"+f.Setting.Flag {
				_ = f.Set(text)
			}
		}
	}
	if !reflect.DeepEqual(read, given) {
		t.Errorf("the other process reads %v, want %v", read, given)
	}
}

// Tags cannot name a constant: each setting of a concurrency has to repeat load.MaxVUs.
func TestConcurrencyHasOneBound(t *testing.T) {
	found := 0
	for _, s := range setting.Of(load.Plan{}, trial.Design{}, sweep.Design{}, search.Design{}, calibrateOptions{}, insideOptions{}) {
		switch s.Name {
		case "vus", "levels", "extend_to", "concurrency":
		default:
			continue
		}
		found++
		if _, most, _ := strings.Cut(s.Allowed(), " to "); most != strconv.Itoa(load.MaxVUs) {
			t.Errorf("%v: %s is at most %q, want %d", s.Struct, s.Name, most, load.MaxVUs)
		}
	}
	if found != 7 {
		t.Errorf("found %d settings of a concurrency, want 7", found)
	}
}
