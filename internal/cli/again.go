package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"contend/internal/lazyregexp"
	"contend/internal/unit"
	"contend/load"
	"contend/report"
	"contend/setting"
	"contend/stat"
	"contend/trial"
)

// ofLength are the flags that say how long is measured, ofFiles those of the files that are
// written: what is typed next must not take their place.
var (
	ofLength = []string{"--duration", "-d", "--rounds"}
	ofFiles  = append(formFlags("--"), "--output", "-o", "--profiles", "--flame")
)

// longer measures as before with another --duration and without --rounds.
func (a *app) longer(most time.Duration) report.Step {
	return report.Step{Purpose: report.MeasureLonger, Command: a.again(slices.Concat(ofLength, ofFiles), "-d", setting.Duration(most))}
}

// wider measures as before with a margin that can be settled, where no number of rounds that can be run would settle the
// present one: the farthest end of the interval, in whole per cent. It is empty if no margin can be.
func (a *app) wider(doc *report.Document) report.Step {
	margin, takes := 0.0, time.Duration(0)
	for _, c := range doc.Comparisons {
		if !c.Primary || !c.OutOfReach() || !c.Bounded() || len(doc.Trials) != 1 {
			continue
		}
		within := math.Ceil(100*(max(c.High, 1/c.Low)-1)) / 100
		more, ok := stat.RoundsNeeded(c.RoundLogRatios, c.RoundWeights, within, 1-c.Level, trial.Power)
		if !ok || within >= 1 || c.Rounds+more > trial.MostRounds {
			return report.Step{}
		}
		margin, takes = max(margin, within), max(takes, time.Duration(c.Rounds+more)*doc.Trials[0].Elapsed/time.Duration(c.Rounds))
	}
	if margin == 0 {
		return report.Step{}
	}
	wide := unit.Percent(margin)
	return report.Step{Purpose: "see whether they are equal within ±" + wide,
		Command: a.again(slices.Concat(ofLength, ofFiles, []string{"--margin"}), "--margin", wide, "-d", setting.Duration(inMinutes(takes)))}
}

// withLongEnough adds to a mistake that --duration is too short the command line with the least that is not.
func (a *app) withLongEnough(err error) error {
	if short, ok := errors.AsType[*trial.TooShortError](err); ok {
		short.Allowed += ": " + a.again(ofLength, "-d", setting.Duration(short.Least))
	}
	return err
}

// withEnough is the command line with as many callers as the rate needs (Little's law), where there were too few for a server whose
// responses take long without waiting for each other; else empty.
func (a *app) withEnough(r *load.Result) report.Step {
	if r.Model != load.OpenModel || !r.Incomplete() || r.Completed == 0 || r.Service.Quantile(0.5) > 2*r.Service.Min() {
		return report.Step{}
	}
	enough := math.Ceil(callersInReserve * r.Plan.Pacer.Peak() * r.Service.Max().Seconds())
	if int(enough) <= r.Plan.VUs { // something else held them up
		return report.Step{}
	}
	return report.Step{Purpose: "measure with as many callers as that takes",
		Command: a.again(slices.Concat(ofFiles, []string{"--concurrency", "-c"}), "-c", fmt.Sprint(min(load.MaxVUs, int(enough))))}
}

// callersInReserve is how many times the callers that the longest response takes are asked for.
const callersInReserve = 1.5

// mistaken is a mistake in the command line that only running shows, if err is one.
func mistaken(err error) error {
	if !errors.As(err, new(*setting.Mistake)) {
		return nil
	}
	return usage(setting.FlagErrors(err))
}

// again is the command line with other words in place of some flags and their values.
func (a *app) again(dropped []string, others ...string) string {
	return a.typed(slices.Concat(a.args[:1], others, withoutFlags(a.args[1:], dropped)))
}

// withoutFlags leaves out flags with their values, up to --.
func withoutFlags(rest, dropped []string) (words []string) {
	for len(rest) > 0 && rest[0] != "--" {
		name, _, attached := strings.Cut(rest[0], "=")
		switch {
		case slices.Contains(dropped, name):
			if rest = rest[1:]; !attached && len(rest) > 0 {
				rest = rest[1:]
			}
		case len(rest[0]) > 2 && slices.Contains(dropped, rest[0][:2]): // as in -d30s
			rest = rest[1:]
		default:
			words, rest = append(words, rest[0]), rest[1:]
		}
	}
	return append(words, rest...)
}

// next is the command line of another command for the same target, with those of the given
// flags that it accepts.
func (a *app) next(command string, own []string, given setting.Values, target string) string {
	return a.typed(slices.Concat([]string{command}, own, flagArguments(given), []string{target}))
}

// typed is the command line of these words, with a variable in place of each secret.
func (a *app) typed(words []string) string {
	text := "contend"
	for _, word := range words {
		text += " " + a.expanded(word)
	}
	return text
}

// special has what a shell does not take as it is in double quotes.
const special = "\"\\`$!"

// expanded is a word as it is typed into a shell that has the variables of its secrets.
func (a *app) expanded(word string) string {
	parts := a.secrets.Split(word)
	if len(parts) == 1 && parts[0].Variable == "" {
		return report.Quoted(word)
	}
	whole, pieces, plainly := "", "", true
	for _, p := range parts {
		if p.Variable != "" {
			whole += "${" + p.Variable + "}"
			pieces += `"$` + p.Variable + `"`
			continue
		}
		whole, pieces = whole+p.Text, pieces+report.Quoted(p.Text)
		plainly = plainly && !strings.ContainsAny(p.Text, special)
	}
	if plainly {
		return `"` + shortly().ReplaceAllString(whole, "$$$1$2") + `"`
	}
	return pieces
}

// shortly are variables that need no braces.
var shortly = lazyregexp.New(`\$\{(\w+)\}(\W|$)`)
