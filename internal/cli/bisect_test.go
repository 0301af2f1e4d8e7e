package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"contend/finding"
	"contend/report"
	"contend/setting"
	"contend/stat"
	"contend/trial"
)

// series adds a commit for how long each server sleeps; one that sleeps for "" does not build.
func (p *project) series(sleeps ...string) {
	p.Helper()
	for i, sleep := range sleeps {
		p.write("sleep", sleep)
		p.write("number", fmt.Sprint(i+1))
		p.succeeds("git", "add", "-A")
		p.succeeds("git", "-c", "maintenance.auto=false", "commit", "-q", "-m", fmt.Sprintf("change %d", i+1))
	}
}

// bisect looks for the commit that made the median longer, or broke a claim about it. Without a look other programs left no verdict on the whole.
func (p *project) bisect(more ...string) (b *report.Bisection, out, complaint string, code int) {
	p.Helper()
	args := []string{"bisect", "--rounds", "9", "--pairs", "1", "--block", window.String(), "--warmup", "0s", "-c", "1",
		"-o", "compared.json", "--build", `sh -c "test -s sleep && ` + buildScript + `"`}
	if !slices.Contains(more, "--expect") {
		args = append(args, "--metric", "response_p50_ns")
	}
	out, complaint, code = p.contend(slices.Concat(args, more, []string{"--", "{{out}} {{addr}}"})...)
	if b = p.document().Bisection; b == nil || len(b.Looks) == 0 && code != exitUndecided {
		p.Fatalf("exit code %d, %+v:\n%s%s", code, b, out, complaint)
	}
	return b, out, complaint, code
}

func TestBisect(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.series("20ms", "", "20ms", "90ms", "90ms")
	b, out, complaint, code := p.bisect("main~5", "main")
	if len(b.Looks) == 0 {
		return
	}
	// Busy programs may spoil the comparison with the parent.
	if best := b.Commits[b.Best()]; best.Subject != "change 4" || best.Probability < 0.95 || b.Confirmed == nil || !slices.Contains(figures, code) {
		t.Errorf("exit code %d, %+v:\n%s%s", code, b, out, complaint)
	}
	if !strings.Contains(out, "change 4") {
		t.Errorf("change 4 is not in\n%s", out)
	}
	if !strings.Contains(out, " main~5 main -- '{{out}} {{addr}}'") {
		t.Errorf("the whole command is not in\n%s", out)
	}
	if again, complaint, _ := p.contend("report", "compared.json"); again != out {
		t.Errorf("the stored one is\n%s%s", again, complaint)
	}
}

// A commit that does not build may have made what the next one shows.
func TestBisectSkips(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.series("20ms", "", "90ms")
	b, out, complaint, code := p.bisect("main~3", "main")
	if len(b.Looks) == 0 {
		return
	}
	if b.Commits[1].Failed == "" || !strings.Contains(complaint, "is skipped: ") || b.Commits[1].Probability+b.Commits[2].Probability < 0.95 {
		t.Errorf("the second was not skipped: %+v\n%s", b.Commits, complaint)
	}
	if code != exitUndecided || !strings.HasPrefix(out, "One of 2 commits: ") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// A claim is broken by the commit that made the median longer, if it holds for the good revision and not for the bad one.
func TestBisectByClaim(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.series("20ms", "20ms", "90ms", "90ms")
	for _, claim := range []string{"p50 < 50ms", "p50 < 10ms", "p50 < 150s"} {
		t.Run(claim, func(t *testing.T) {
			p.T = t
			b, out, complaint, code := p.bisect("--expect", claim, "--url", "http://{{addr}}/", "main~4", "main")
			if _, differ := decided(p.document()); !differ {
				return // busy programs left no verdict
			}
			switch {
			case claim != "p50 < 50ms":
				if len(b.Looks) > 0 || code != exitUndecided || !strings.HasPrefix(out, "No commit to find: \""+claim+`" `) {
					t.Errorf("exit code %d:\n%s%s", code, out, complaint)
				}
			case len(b.Looks) == 0 || b.Commits[b.Best()].Subject != "change 3":
				t.Errorf("exit code %d, %+v:\n%s", code, b, complaint)
			}
		})
	}
}

func TestBisectStopsInTime(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.series("20ms", "90ms", "90ms")
	b, out, complaint, code := p.bisect("--within", "1ms", "main~3", "main")
	if !strings.Contains(complaint, "found: asking for http://{{addr}}/\n") {
		t.Errorf("no URL was found:\n%s", complaint)
	}
	if len(b.Looks) > 0 && (len(b.Looks) > 1 || b.Stopped != "time" || code != exitUndecided || !strings.HasPrefix(out, "Not found yet: one of 3 commits")) {
		t.Errorf("exit code %d, %+v:\n%s", code, b, out)
	}
}

// A script asks for a page each way.
func TestBisectByScript(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.series("20ms", "90ms")
	for name, url := range map[string][]string{"found": nil, "given": {"--url", "http://{{addr}}/"}} {
		t.Run(name, func(t *testing.T) {
			p.T = t
			p.write("flow.js", "import http from 'k6/http'\nexport default () => { http.get(__ENV.BASE_URL); http.get(__ENV.BASE_URL) }\n")
			b, out, complaint, code := p.bisect(slices.Concat(url, []string{"main~2", "main", "flow.js"})...)
			if len(b.Looks) == 0 {
				return
			}
			if best := b.Commits[b.Best()]; best.Subject != "change 2" || !slices.Contains(figures, code) {
				t.Errorf("exit code %d, %+v:\n%s%s", code, b, out, complaint)
			}
			if !strings.Contains(out, " main~2 main flow.js -- '{{out}} {{addr}}'") {
				t.Errorf("the whole command is not in\n%s", out)
			}
			for _, r := range p.document().Results {
				if r.Script == nil {
					t.Errorf("%s was driven without the script", r.Arm)
				}
			}
		})
	}
}

// Where other programs spoil comparisons by time, a search by counts is proposed at once, and only once, unless it would
// look for something else.
func TestBisectProposesToCountAtOnce(t *testing.T) {
	doc := &report.Document{Comparisons: []report.Comparison{{Comparison: trial.Comparison{Baseline: "a", Candidate: "b", Primary: true,
		Verdict: stat.Invalid, Reason: finding.MachineBusy.Refusal("busy")}}}}
	const whole = "contend bisect --count v1 main -- './a {{addr}}'"
	for metric, want := range map[string]string{"": whole, "p99": ""} {
		var errs strings.Builder
		b := bisectFlags{app: &app{args: []string{"bisect", "-d", "1m", "v1", "main", "--", "./a {{addr}}"}, Streams: Streams{io.Discard, &errs}}, given: setting.Values{}}
		if metric != "" {
			b.given["metric"] = setting.Value{Texts: []string{metric}}
		}
		b.noteBusy(&report.Document{})
		b.noteBusy(doc)
		b.noteBusy(doc)
		if b.instead.Command != want || strings.Count(errs.String(), whole) != len(want)/len(whole) {
			t.Errorf("by %q: %q, and says\n%s", metric, b.instead.Command, &errs)
		}
	}
}

func TestBisectMistakes(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	whole := []string{"--build", "go build -o {{out}}", "--url", "http://{{addr}}/"}
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"main~1", "main"}, "expects a good revision, a bad one and, after --, a command, got 2"},
		{[]string{"main~1", "main", "--", "./server"}, `command "./server" does not contain {{out}}`},
		{[]string{"main~1", "main", "--", "{{out}}"}, `--build is ""; expected a command with {{out}}`},
		{append(whole, "none", "main", "--", "{{out}}"), `names "none", which does not exist`},
		{append(whole, "main", "main~1", "--", "{{out}}"), "does not contain main"},
		{append(whole, "main", "main", "--", "{{out}}"), "are the same commit"},
		{append(whole, "--expect", "p99", "main~1", "main", "--", "{{out}}"), `--expect is "p99"; expected METRIC OPERATOR NUMBER`},
		{append(whole, "--expect", "errors < 1%", "main~1", "main", "--", "{{out}}"), `--expect is "errors < 1%"; expected a metric that can be compared`},
		{append(whole, "--expect", "p99 < 2ms", "--metric", "max", "main~1", "main", "--", "{{out}}"), "--expect names what is compared: drop --metric"},
		{append(whole, "--within", "-1s", "main~1", "main", "--", "{{out}}"), "--within is -1s; expected 0s to 720h"},
	} {
		if out, complaint, code := p.contend(append([]string{"bisect"}, tt.args...)...); code != exitUsage || out != "" || !strings.Contains(complaint, tt.says) {
			t.Errorf("%q: exit code %d, %q, want %q", tt.args, code, complaint, tt.says)
		}
	}
}
