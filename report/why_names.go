package report

import (
	"fmt"
	"slices"
	"strings"

	"contend/trial"
	"contend/why"
)

// shortName is a function's name without what is rarely looked at.
func shortName(function string) string { return clean(why.ShortName(function)) }

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
		if with := name + " (" + mostlyIn(r) + ")"; len(r.Functions) == 1 || width(with) <= room {
			return with
		}
	}
	return name
}

// mostCut is the share of the CPU time up to which missing callers are not worth a word: a few are wherever
// threads begin in code without frame pointers. A convention.
const mostCut = 0.2

// cutSentence says of which of two arms callers are not known, and what to do; "" where most are.
func cutSentence(d *trial.Diagnosis, arms []string, e why.Explanation) string {
	var cut []string
	for _, arm := range []string{e.Baseline, e.Candidate} {
		if at := slices.Index(arms, arm); at >= 0 && why.Cut(d.Calls, at) > mostCut {
			cut = append(cut, fmt.Sprintf("%.0f %% of what %s does", 100*why.Cut(d.Calls, at), clean(arm)))
		}
	}
	if len(cut) == 0 {
		return ""
	}
	return "Nobody knows who called " + strings.Join(cut, " and ") + ": build with -fno-omit-frame-pointer"
}
