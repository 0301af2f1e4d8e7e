package cli

import (
	"reflect"
	"strings"
	"testing"

	"contend/setting"
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
