package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"contend/internal/lazyregexp"
	"contend/report/plain"
	"contend/trial"
	"contend/why"
)

// shortName is a function's name without what is rarely looked at.
func shortName(function string) string { return plain.Line(why.ShortName(function)) }

// mostlyIn are the functions of a row.
func mostlyIn(r why.Row) string {
	names := make([]string, len(r.Functions))
	for i, name := range r.Functions {
		names[i] = shortName(name)
	}
	return strings.Join(names, ", ")
}

// workName is a row's name with as many of its functions, one at least, as have room without being cut off.
func workName(r why.Row, room int) string {
	name := shortName(r.Name)
	for ; len(r.Functions) > 0; r.Functions = r.Functions[:len(r.Functions)-1] {
		if with := name + " (" + mostlyIn(r) + ")"; len(r.Functions) == 1 || plain.Width(with) <= room {
			return with
		}
	}
	return name
}

// mostCut is the largest share of CPU time with unknown callers, or of a runtime, that is not reported. A few are normal: threads
// often start in code without frame pointers. A convention.
const mostCut = 0.2

// runtimes are files whose functions run others' functions, which a profile knows only if a program is started so.
var runtimes = []struct {
	name  string
	file  func() *regexp.Regexp
	start string
}{
	{"node", lazyregexp.New(`^node(js)?$`), "node --perf-basic-prof"},
	{"Python", lazyregexp.New(`^(lib)?python[0-9.]*(\.so.*)?$`), "python3 -X perf (3.12 or later, with frame pointers)"},
	{"Java", lazyregexp.New(`^libjvm\.so$`), "java with an agent that writes /tmp/perf-PID.map"},
}

// unnamedSentence says how the functions of two variants get names if a runtime hides them, or their callers if these are
// unknown; "" where most are known.
func unnamedSentence(of *trial.Diagnosis, arms []string, e why.Explanation) string {
	for _, arm := range []string{e.Baseline, e.Candidate} {
		its := slices.DeleteFunc(slices.Clone(of.Profiles), func(p why.Profile) bool { return p.Arm != arm })
		if slices.ContainsFunc(its, why.Profile.NamesCompiled) {
			continue
		}
		for _, r := range runtimes {
			runs := func(p why.Profile) bool {
				return slices.ContainsFunc(p.Packages, func(one why.Package) bool {
					return r.file().MatchString(one.Name) && float64(one.Time) > mostCut*float64(p.CPU)
				})
			}
			if slices.ContainsFunc(its, runs) {
				return "Functions that " + r.name + " runs are unknown: start " + r.start
			}
		}
	}
	return cutSentence(of, arms, e)
}

// cutSentence says for which of two variants callers are unknown, and what to do; "" where most are known, or the difference is explained.
func cutSentence(d *trial.Diagnosis, arms []string, e why.Explanation) string {
	if len(e.Roots) > 0 {
		return ""
	}
	var cut []string
	for _, arm := range []string{e.Baseline, e.Candidate} {
		if at := slices.Index(arms, arm); at >= 0 && why.Cut(d.Calls, at) > mostCut {
			cut = append(cut, fmt.Sprintf("%.0f%% of the CPU time of %s", 100*why.Cut(d.Calls, at), plain.Line(arm)))
		}
	}
	if len(cut) == 0 {
		return ""
	}
	return "Callers unknown for " + strings.Join(cut, " and ") + ": build with -fno-omit-frame-pointer"
}
