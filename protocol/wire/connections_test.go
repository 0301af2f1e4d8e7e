package wire

import (
	"strings"
	"testing"

	"contend/internal/testenv"
)

func TestParseConnections(t *testing.T) {
	for _, test := range []struct {
		text string
		want Connections
		back string // the text form again; "" for an error
		pool int
	}{
		{"per-vu", Connections{}, "per-vu", 0},
		{"per-iteration", Connections{Sharing: PerIteration}, "per-iteration", 0},
		{"shared", Connections{Shared, 1}, "shared:1", 1},
		{"shared:12", Connections{Shared, 12}, "shared:12", 12},
		{text: ""}, {text: "shared:0"}, {text: "shared:x"}, {text: "shared:-1"}, {text: "shared:"},
		{text: "per-vu:1"}, {text: "per-iteration:2"}, {text: "Shared"},
	} {
		got, err := parseConnections(test.text)
		if got != test.want || (err == nil) != (test.back != "") {
			t.Errorf("%q: got %+v, %v", test.text, got, err)
		}
		if err == nil && (got.String() != test.back || got.Pool() != test.pool || got.Check() != nil) {
			t.Errorf("%q becomes %q with a pool of %d, %v", test.text, got, got.Pool(), got.Check())
		}
		if err != nil && !strings.Contains(err.Error(), "shared:N") {
			t.Errorf("%q: %v does not say what is allowed", test.text, err)
		}
	}
}

func TestConnectionsCheck(t *testing.T) {
	if c := (Connections{Sharing: Shared}); c.Check() != nil || c.Pool() != 1 {
		t.Errorf("shared without a number: %v, a pool of %d", c.Check(), c.Pool())
	}
	for _, c := range []Connections{{PerVU, 2}, {PerIteration, 1}, {Shared, -1}, {7, 0}, {-1, 0}} {
		testenv.Says(t, c.Check(), c.String())
	}
}

func FuzzParseConnections(f *testing.F) {
	for _, seed := range []string{"shared:4", "per-vu", "per-iteration", "shared:99999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseConnections(text)
		if err != nil {
			return
		}
		if again, err := parseConnections(c.String()); err != nil || again != c {
			t.Errorf("%q is %+v, its text form %+v, %v", text, c, again, err)
		}
	})
}
