package cli

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/history"
	"contend/internal/secret"
	"contend/report"
)

// kept are the results in the folder of a project.
func (p *project) kept() (anchor string, results []history.Stored) {
	p.Helper()
	store, err := history.Open(p.folder + "/perf")
	if err != nil {
		p.Fatal(err)
	}
	results, problems, err := store.Read()
	if err != nil || problems != nil {
		p.Fatal(err, problems)
	}
	return store.Anchor(), results
}

func TestHistoryOfRevisions(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	compare := func(args ...string) string {
		t.Helper()
		args = slices.Concat([]string{"compare", "--rounds", "1", "--pairs", "1", "--block", (2 * window).String(), "--warmup", "0s", "-c", "1", "--history", "perf",
			"--metric", "response_p50_ns", "--url", "http://{{addr}}/", "--build", `sh -c "` + buildScript + `"`}, args, []string{"--", "{{out}} {{addr}}"})
		_, complaint, code := p.contend(args...)
		if !slices.Contains(figures, code) {
			t.Fatalf("exit code %d: %s", code, complaint)
		}
		return complaint
	}
	if complaint := compare("--revisions", "main~2,main~1"); !strings.Contains(complaint, "is the anchor of perf from now on\n") {
		t.Errorf("no anchor is named:\n%s", complaint)
	}
	compare()
	first, second, third := p.succeeds("git", "rev-parse", "main~2"), p.succeeds("git", "rev-parse", "main~1"), p.succeeds("git", "rev-parse", "main")
	anchor, results := p.kept()
	if anchor != first || len(results) != 2 || results[0].Anchor != first || results[1].Anchor != first || results[0].Key.Asked != results[1].Key.Asked {
		t.Fatalf("anchor %s of %s, %+v", anchor, first, results)
	}
	if got := []string{results[0].Commit, results[1].Commit}; !slices.Contains(got, second) || !slices.Contains(got, third) {
		t.Errorf("commits %v, want %s and %s", got, second, third)
	}
	for _, r := range results {
		if !strings.HasPrefix(r.Subject, "sleep for ") || r.Committed.IsZero() || strings.Contains(r.Key.Asked, "main") || strings.Contains(r.Key.Asked, "perf") {
			t.Errorf("%+v", r)
		}
	}
	csv, complaint, code := p.contend("history", "--format", "csv", "perf")
	lines := strings.Split(csv, "\n")
	if code != exitDone || len(lines) < 3 || !strings.HasPrefix(lines[1], second) || !strings.HasPrefix(lines[2], third) || !strings.Contains(lines[1], ",true,") {
		t.Errorf("exit code %d, %s\n%s", code, complaint, csv)
	}

	// A rebase loses a commit, whose result stays.
	p.succeeds("git", "commit", "-q", "--amend", "-m", "another")
	if out, _, _ := p.contend("history", "perf"); !strings.Contains(out, "1 result of commits that git does not have, as after a rebase") {
		t.Errorf("the lost commit is not told:\n%s", out)
	}
	if _, complaint, code := p.contend("history", "--anchor", "main~1", "perf"); code != exitDone || !strings.Contains(complaint, "is the anchor from now on") {
		t.Errorf("exit code %d, %s", code, complaint)
	}
	if anchor, _ := p.kept(); anchor != second {
		t.Errorf("the anchor is %s, want %s", anchor, second)
	}
	if _, complaint, code := p.contend("history", "--anchor", "none", "perf"); code != exitUsage || !strings.Contains(complaint, `--anchor names "none", which does not exist`) {
		t.Errorf("exit code %d, %s", code, complaint)
	}
}

func TestAsked(t *testing.T) {
	for give, want := range map[string]string{
		"compare --revisions a,b --build x -o f.json -- c --full": "contend compare --build x -- c --full",
		"compare --history=perf --build x --json -- c --full":     "contend compare --build x -- c --full",
		"run -d10s --html=a.html --ui -c 5 http://h/":             "contend run -c 5 http://h/",
	} {
		if got := (&app{args: strings.Fields(give), secrets: new(secret.Book)}).asked(); got != want {
			t.Errorf("%s: %s, want %s", give, got, want)
		}
	}
}

// A step is repeated before it is told, and told once. Without a repetition other programs left no verdict.
func TestHistoryCheck(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.series("5ms", "5ms", "5ms", "5ms", "5ms", "20ms", "20ms", "20ms")
	store, err := history.Open(p.folder + "/perf")
	if err != nil {
		t.Fatal(err)
	}
	asked := `contend compare --rounds 7 --pairs 1 --block ` + window.String() + ` --warmup 0s -c 1 --metric response_p50_ns --build ` +
		report.Quoted(`sh -c "`+buildScript+`"`) + ` --url 'http://{{addr}}/' -- '{{out}} {{addr}}'`
	commits := strings.Fields(p.succeeds("git", "rev-list", "--reverse", "main~8..main"))
	anchor := p.succeeds("git", "rev-parse", "main~8")
	for i, commit := range commits {
		at := 0.001 * float64(i%3)
		if i >= 5 {
			at += math.Log(20. / 5)
		}
		_, err := store.Add(history.Result{Schema: history.Schema, Time: time.Date(2024, 2, 1+i, 0, 0, 0, 0, time.UTC), Commit: commit, Anchor: anchor, Key: history.Key{Asked: asked},
			Values: []history.Value{{Of: history.Of{Concurrency: 1, Metric: "response_p50_ns"}, Primary: true, Value: 1, Baseline: 1, Rounds: []float64{at - 0.001, at, at + 0.001}, LogRatio: at, Verdict: "SLOWER"}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := store.SetAnchor(anchor); err != nil {
		t.Fatal(err)
	}
	if out, complaint, code := p.contend("history", "perf"); code != exitDone || !strings.Contains(out, "suspected: ") || !strings.Contains(out, "since "+commits[5][:7]) {
		t.Fatalf("exit code %d, %s\n%s", code, complaint, out)
	}
	out, complaint, code := p.contend("history", "--check", "perf")
	if _, results := p.kept(); code == exitUndecided { // other programs leave no time for an answer
		if !strings.Contains(complaint, "the repetition has no valid result: contend compare --revisions "+commits[4][:12]+","+commits[5][:12]) || len(results) != len(commits) {
			t.Errorf("%d results, %s\n%s", len(results), complaint, out)
		}
		return
	}
	if code != exitUnmet || !strings.HasPrefix(out, "CONFIRMED: response time p50 ") || !strings.Contains(out, "--revisions "+commits[4][:12]+","+commits[5][:12]) {
		t.Fatalf("exit code %d, %s\n%s", code, complaint, out)
	}
	if _, results := p.kept(); len(results) != len(commits)+1 {
		t.Errorf("%d results", len(results))
	}
	if out, complaint, code := p.contend("history", "--check", "perf"); code != exitDone || out != "response time p50: no new step among 8 results\n" {
		t.Errorf("told again: exit code %d, %s\n%s", code, complaint, out)
	}
}
