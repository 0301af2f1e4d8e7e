package count

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
	"contend/load"
	"contend/stat"
	"contend/trial"
)

// What is left is known as soon as the servers have started at full speed: here to within a fifth, or 7 seconds for the
// lives that had no example.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := quick(1000), quick(1000)
		a.name, b.name, a.startsIn, b.startsIn, a.faster, b.faster = "A", "B", time.Second, 2*time.Second, 50, 50
		type told struct {
			trial.Progress
			at time.Time
		}
		var all []told
		observe := func(p trial.Progress) { all = append(all, told{p, time.Now()}) }
		if _, err := Compare(t.Context(), []trial.Arm{a.arm(), b.arm()}, load.Plan{VUs: 4, Timeout: time.Second}, Options{Repetitions: 6, Observe: observe}); err != nil {
			t.Fatal(err)
		}
		end := time.Now()
		for i, p := range all {
			left := end.Sub(p.at)
			if i > 0 && (p.Left-left).Abs() > max(left/5, 7*time.Second) || p.Done >= 1 || i > 0 && p.Done < all[i-1].Done {
				t.Errorf("%s: %.3f done, %v left; in fact %v", p.Label, p.Done, p.Left, left)
			}
		}
		if want := 2 + 6 + 2*6; len(all) != want {
			t.Errorf("%d times, want %d", len(all), want)
		}
	})
}

// With a limit there are as many repetitions as there is time for, and one at least.
func TestCompareKeepsToItsLimit(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	counts, err := compared(t, quick(10_000), quick(10_000), 5*time.Second)
	if runs := len(counts.Runs); err != nil || runs != 8 { // repetitions of 1.5 s and 2 s: a short and a long run, two servers at once
		t.Errorf("%d runs in %v, %v", runs, counts.Elapsed, err)
	}
}

// It ends at its limit even if no repetition has ended, and says how long they take if it is known. What it counts is less
// than without a limit, if the starts are slow.
func TestCompareEndsAtItsLimit(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, tt := range []struct {
		startsIn, limit time.Duration
		done            int
		most            time.Duration
		want            string
	}{
		// Measured for 5 s, as long as a start: repetitions take 20 s and 8.75 s.
		{10 * time.Second, 0, 4, time.Hour, ""},
		// For 2.7 s, as 24.7 s is left of 110 s for each repetition.
		{10 * time.Second, 110 * time.Second, 4, 122 * time.Second, ""},
		{10 * time.Second, 40 * time.Second, 1, 45 * time.Second, "1 of 4 repetitions ended, too few for an interval; all take about 2m"},
		{time.Minute, 40 * time.Second, 0, 45 * time.Second, "0 of 4 repetitions ended, too few for an interval"},
	} {
		a, b := quick(10_000), quick(10_000)
		a.startsIn, b.startsIn, a.faster, b.faster = tt.startsIn, tt.startsIn, 50, 50
		a.takes, b.takes = 10*time.Millisecond, 10*time.Millisecond
		counts, err := compared(t, a, b, tt.limit)
		if err != nil || len(counts.Comparisons) != 1 {
			t.Fatalf("%v: %v, %+v", tt.limit, err, counts)
		}
		c := counts.Comparisons[0]
		if tt.want == "" && c.Verdict != stat.Equivalent || tt.want != "" && (!c.Reason.Is(finding.TooFewRounds) || c.Reason.Text != tt.want) {
			t.Errorf("%v: %s, %v, want %q", tt.limit, c.Verdict, c.Reason, tt.want)
		}
		if len(counts.Runs)/4 != tt.done || counts.Elapsed > tt.most {
			t.Errorf("%v: %d repetitions in %v, want %d in %v", tt.limit, len(counts.Runs)/4, counts.Elapsed, tt.done, tt.most)
		}
	}
}

// What a server did before the time was up is said, although the other one ends after that.
func TestCompareSaysWhatFailedBeforeItsLimit(t *testing.T) {
	silent, slow := quick(1000), quick(1000)
	silent.silent, slow.endsIn, slow.faster = true, time.Minute, 50
	if counts, err := compared(t, silent, slow, 10*time.Second); !errors.Is(err, errKilled) || len(counts.Comparisons) > 0 {
		t.Errorf("error %v, and %+v", err, counts.Comparisons)
	}
}
