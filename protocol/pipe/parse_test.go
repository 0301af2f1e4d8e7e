package pipe

import (
	"reflect"
	"testing"

	"contend/internal/testenv"
	"contend/pipeline"
)

func TestParse(t *testing.T) {
	tests := []struct {
		text string
		want Config
	}{
		{"pipe:spsc", Config{Rung: "spsc"}},
		{"PIPE:Chan?", Config{Rung: "Chan"}},
		{"pipe:chan?buffer=10000&producers=1&consumers=2&items=100000&batch=64&print=true",
			Config{Rung: "chan", Items: 100_000, Print: true,
				Config: pipeline.Config{Buffer: 10_000, Batch: 64, Producers: 1, Consumers: 2}}},
	}
	for _, tt := range tests {
		got, err := Parse(tt.text)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("Parse(%q) = %+v, %v, want %+v", tt.text, got, err, tt.want)
		}
	}
}

func TestParseNamesEveryMistake(t *testing.T) {
	tests := []struct{ text, want string }{
		{"spsc", `target is "spsc"; expected pipe:NAME and pipe:NAME?setting=value&…`},
		{"pipe://spsc", `target is "pipe://spsc"; expected pipe:NAME and pipe:NAME?setting=value&…`},
		{"pipe:", `target is "pipe:"; expected pipe:NAME and pipe:NAME?setting=value&…`},
		{"pipe:ring", `design is "ring"; expected chan, chan-batch, spsc, mpsc or mpmc`},
		{"pipe:chan?bufer=1", `bufer is not known; expected buffer, batch, producers, consumers, items, print (did you mean "buffer"?)`},
		{"pipe:chan?a=%zz", `target is "pipe:chan?a=%zz"; expected pipe:NAME and pipe:NAME?setting=value&…
invalid URL escape "%zz"`},
		{"pipe:chan#x", `target is "pipe:chan#x"; expected pipe:NAME and pipe:NAME?setting=value&…`},
		{"pipe:spsc?buffer=many&buffer=1&consumers=2&items=-1&print=perhaps", `buffer is given 2 times
items is -1; expected 0 to 1099511627775
print is "perhaps"; expected true or false
consumers is 2; expected 1 with spsc`},
		{"pipe:chan?batch=1e3", `batch is "1e3"; expected a whole number`},
	}
	for _, tt := range tests {
		_, err := Parse(tt.text)
		if err == nil || err.Error() != tt.want {
			t.Errorf("Parse(%q):\n%v\nwant\n%s", tt.text, err, tt.want)
		}
	}
}

// Every number of items that a Tally can tell apart is allowed.
func TestMostItems(t *testing.T) {
	if err := (Config{Rung: "chan", Items: pipeline.MaxItems}).Validate(); err != nil {
		t.Error(err)
	}
	if err := (Config{Rung: "chan", Items: pipeline.MaxItems + 1}).Validate(); err == nil {
		t.Error("more items than a Tally can tell apart are allowed")
	}
}

func TestPrintNeedsAProcess(t *testing.T) {
	const want = "print needs the command of a process that discards what is printed"
	c, err := Parse("pipe:chan?print=true")
	testenv.Must(t, err)
	if _, err := New(c); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	c.Discard = []string{"/there/is/no/such/command"}
	target, err := New(c)
	testenv.Must(t, err)
	if v, err := target.NewVU(t.Context(), 0); err == nil || v != nil {
		t.Errorf("%v, %v", v, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("pipe:chan?buffer=10000&print=true")
	f.Add("pipe:spsc?items=-1&items=2#x")
	f.Add("pipe:%zz")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		c.Discard = []string{"cat"}
		if err := c.Validate(); err != nil {
			t.Errorf("Parse(%q) = %+v: %v", text, c, err)
		}
	})
}
