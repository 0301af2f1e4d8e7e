package pace_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"contend/pace"
)

func TestCallers(t *testing.T) {
	c, err := pace.ParseCallers("0-4/8s,4/1s,2/1s,2-0/4s")
	if err != nil {
		t.Fatal(err)
	}
	if c.Peak() != 4 || c.Length() != 14*time.Second || c.String() != "0-4/8s,4/1s,2/1s,2-0/4s" {
		t.Errorf("peak %d, length %v, text %s", c.Peak(), c.Length(), c)
	}
	for _, test := range []struct {
		i       int
		t, want time.Duration // in ms
	}{
		{0, 0, 2000}, {0, 1999, 2000}, {0, 2001, 2001}, // the first comes a quarter into the first stage
		{3, 0, 8000}, {3, 8500, 8500}, {3, 9000, int64max}, // four only for a second
		{1, 9500, 9500}, {1, 11999, 11999}, {1, 12000, int64max}, // 2-0/4s: one goes after 2 s
		{0, 13999, 13999}, {0, 14000, int64max}, {4, 0, int64max},
	} {
		want := test.want
		if want != int64max {
			want *= time.Millisecond
		}
		if got := c.Next(test.i, test.t*time.Millisecond); got != want {
			t.Errorf("caller %d from %v ms: %v, want %v", test.i, int64(test.t), got, want)
		}
	}
	for text, want := range map[string]string{"1": "a duration", "0/1s": "no callers", "1.5/1s": "numbers of callers", "a/1s": "rate", "2000000/1s": "numbers of callers"} {
		if _, err := pace.ParseCallers(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

const int64max = pace.Never

// For any plan a caller's next begin is not before it is asked for, is itself one of its begins, never
// goes back, and a caller is one of those that are planned whenever the next one is.
func TestCallersProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []string{}
		for range rapid.IntRange(1, 5).Draw(t, "stages") {
			from, to := rapid.IntRange(0, 9).Draw(t, "from"), rapid.IntRange(0, 9).Draw(t, "to")
			length := time.Duration(rapid.IntRange(1, 5000).Draw(t, "ms")) * time.Millisecond
			text = append(text, strings.Join([]string{strconv.Itoa(from), "-", strconv.Itoa(to), "/", length.String()}, ""))
		}
		c, err := pace.ParseCallers(strings.Join(text, ","))
		if err != nil {
			return // no callers at all
		}
		last := time.Duration(0)
		i := rapid.IntRange(0, 9).Draw(t, "caller")
		for at := time.Duration(0); at < c.Length(); at += c.Length()/97 + 1 {
			next := c.Next(i, at)
			if next < at || next < last || next != pace.Never && c.Next(i, next) != next {
				t.Fatalf("%s: caller %d from %v: %v, before %v", c, i, at, next, last)
			}
			if further := c.Next(i+1, at); further < next {
				t.Fatalf("%s: from %v caller %d comes at %v and the one before at %v", c, at, i+1, further, next)
			}
			last = next
		}
		if c.Next(c.Peak(), 0) != pace.Never {
			t.Fatalf("%s: a caller more than %d", c, c.Peak())
		}
	})
}
