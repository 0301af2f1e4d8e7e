package guard_test

import (
	"strings"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/protocol/guard"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		give string
		want guard.Config
	}{
		{"guard:mutex", guard.Config{Design: "mutex"}},
		{"guard:inputQ?kind=add-get", guard.Config{Design: "inputQ", Kind: guard.AddGet}},
		{"guard:striped?kind=read-mostly&batch=7&seed=18446744073709551615",
			guard.Config{Design: "striped", Kind: guard.ReadMostly, Batch: 7, Seed: 1<<64 - 1}},
		{"guard:mutex?kind=section&section=200ns&batch=100",
			guard.Config{Design: "mutex", Kind: guard.Section, Section: 200, Batch: 100}},
	} {
		if got, err := guard.Parse(test.give); err != nil || got != test.want {
			t.Errorf("Parse(%q) = %+v, %v: want %+v", test.give, got, err, test.want)
		}
	}
}

func TestParseNamesEveryMistake(t *testing.T) {
	for _, test := range []struct {
		give string
		want []string // parts of the error
	}{
		{"", []string{"expected guard:NAME"}},
		{"guard:", []string{"expected guard:NAME"}},
		{"guard://mutex", []string{"expected guard:NAME"}},
		{"http://localhost", []string{"expected guard:NAME"}},
		{"guard:mutx", []string{`design is "mutx"`, "inputq-batch"}},
		{"guard:mutex?kind=ad", []string{`kind is "ad"; expected add, add-get, read-mostly or section`}},
		{"guard:mutex?kinds=add", []string{`kinds is not known; expected kind, batch, seed, section (did you mean "kind"?)`}},
		{"guard:mutex?batch=0", []string{`batch is 0; expected 1 to 1000000`}},
		{"guard:mutex?batch=1000001", []string{`batch is 1000001; expected 1 to 1000000`}},
		{"guard:mutex?batch=5&batch=6", []string{`batch is given 2 times`}},
		{"guard:mutex?seed=-1", []string{`seed is "-1"`}},
		{"guard:mutex?kind=section&section=200", []string{`section is "200"; expected more than 0s and at most 1s (a duration`}},
		{"guard:mutex?kind=section&section=0s", []string{`section is 0s; expected more than 0s and at most 1s`}},
		{"guard:mutex?kind=section&section=2s", []string{`section is 2s; expected more than 0s and at most 1s`}},
		{"guard:mutex?section=1us", []string{`section is 1µs; only kind section`}},
		{"guard:striped?kind=add-get", []string{`kind is add-get, but design striped returns no value`}},
		{"guard:atomic?kind=section", []string{`kind is section, but design atomic gives no exclusive access`}},
		{"guard:mutx?kind=ad&batch=x&size=3&section=y",
			[]string{`"mutx"`, `kind is "ad"`, `batch is "x"`, `size is not known`, `section is "y"`}},
	} {
		_, err := guard.Parse(test.give)
		if err == nil {
			t.Errorf("Parse(%q): no error", test.give)
			continue
		}
		testenv.Says(t, err, test.want...)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, give := range []guard.Config{
		{},
		{Design: "mutex", Batch: -1},
		{Design: "mutex", Kind: guard.Section, Section: -1},
		{Design: "striped", Kind: guard.AddGet},
	} {
		if _, err := guard.New(give); err == nil || !strings.HasPrefix(err.Error(), "guard target: ") {
			t.Errorf("New(%+v): error %v", give, err)
		}
	}
}

func TestDefaults(t *testing.T) {
	for _, test := range []struct{ give, want guard.Config }{
		{guard.Config{Design: "mutex"}, guard.Config{Design: "mutex", Kind: guard.Add, Batch: 1000}},
		// 75 µs / 200 ns = 375
		{guard.Config{Design: "mutex", Kind: guard.Section},
			guard.Config{Design: "mutex", Kind: guard.Section, Section: 200, Batch: 375}},
		// 75 µs / 10 ns would be 7500, above the thousand of the other kinds
		{guard.Config{Design: "mutex", Kind: guard.Section, Section: 10},
			guard.Config{Design: "mutex", Kind: guard.Section, Section: 10, Batch: 1000}},
		{guard.Config{Design: "mutex", Kind: guard.Section, Section: time.Millisecond},
			guard.Config{Design: "mutex", Kind: guard.Section, Section: time.Millisecond, Batch: 1}},
	} {
		target, err := guard.New(test.give)
		testenv.Must(t, err)
		if got := target.Config(); got != test.want {
			t.Errorf("New(%+v) runs %+v: want %+v", test.give, got, test.want)
		}
		target.Close()
	}
}

// What is written as a URL is read again.
func TestURL(t *testing.T) {
	for _, tt := range []struct {
		config guard.Config
		want   string
	}{
		{guard.Config{Design: "mutex", Seed: 3}, "guard:mutex?kind=add"},
		{guard.Config{Design: "mutex", Kind: guard.Section, Section: 1500 * time.Nanosecond, Batch: 7}, "guard:mutex?kind=section&section=1.5µs&batch=7"},
	} {
		got := tt.config.URL()
		read, err := guard.Parse(got)
		read.Seed = tt.config.Seed
		if tt.config.Kind == "" {
			tt.config.Kind = guard.Add
		}
		if got != tt.want || err != nil || read != tt.config {
			t.Errorf("%+v is %s, read as %+v: %v", tt.config, got, read, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"guard:mutex", "guard:inputq-batch?kind=add-get&batch=100&seed=1",
		"guard:mutex?kind=section&section=200ns", "guard:x?%zz", "guard:", "guard:a#b", "guard:striped?kind=add&kind=",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		c, err := guard.Parse(spec)
		if err != nil || c.Section > 0 {
			return // New would calibrate
		}
		target, err := guard.New(c)
		if err != nil {
			t.Fatalf("Parse(%q) = %+v, which New refuses: %v", spec, c, err)
		}
		target.Close()
	})
}
