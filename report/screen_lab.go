package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"contend/internal/lazyregexp"
	"contend/report/plain"
	"contend/stat"
)

// mostOfRow are the lines of each text about an experiment.
const mostOfRow = 4

// isLab reports whether the document is about experiments, which answer questions. A comparison from a
// user's own file is not: its page is that of any comparison.
func (d *Document) isLab() bool {
	_, own := d.own()
	return d.Command == "lab" && len(d.Experiments) > 0 && !own
}

// labScreen answers the questions of the experiments: one in full, several in blocks.
func (d *Document) labScreen() *screen {
	list := d.replies()
	s := &screen{first: d.labSentence(list), mood: moodOfReplies(list), care: new(findings), steps: d.afterLab(list)}
	if len(list) == 1 {
		d.ofExperiment(s, d.Experiments[0], list[0])
		return s
	}
	s.trust = d.labTrust(list)
	for i, r := range list {
		s.block(d.Experiments[i], r)
	}
	return s
}

func (d *Document) replies() []reply {
	var list []reply
	for _, e := range d.Experiments {
		list = append(list, d.reply(e))
	}
	return list
}

func moodOfReplies(list []reply) mood {
	m := good
	for _, r := range list {
		switch {
		case r.standing == failed || len(r.broken) > 0:
			return bad
		case r.standing != answered:
			m = doubted
		}
	}
	return m
}

// labSentence says how many questions are answered, and which are not and why; of one
// experiment, the answer.
func (d *Document) labSentence(list []reply) string {
	if len(list) == 1 {
		return list[0].said(d.Experiments[0], 1)
	}
	var not []string
	for i, r := range list {
		if r.standing != answered {
			not = append(not, fmt.Sprintf("%s (%s)", d.Experiments[i].ID, r.why()))
		}
	}
	all := fmt.Sprintf("%d questions", len(list))
	switch {
	case len(not) == 0:
		return "All " + all + " answered"
	case len(not) == len(list):
		return fmt.Sprintf("None of %s answered: %s", all, strings.Join(not, ", "))
	}
	return fmt.Sprintf("%d of %s answered; open: %s", len(list)-len(not), all, strings.Join(not, ", "))
}

// why says in a word or two why a question is not answered.
func (r reply) why() string {
	for _, remark := range r.answer {
		if remark.standing == r.standing && remark.code != "" {
			return standingWords[r.standing] + ": " + remark.code
		}
	}
	return standingWords[r.standing]
}

// said is the outcome in words: at most so many of the remarks that answer.
func (r reply) said(e Experiment, most int) string {
	var parts, rest []string
	several := slices.ContainsFunc(r.answer, func(o remark) bool { return o.part != r.answer[0].part })
	for _, remark := range r.answer[:min(most, len(r.answer))] {
		switch text := remark.text; {
		case remark.standing == disbelieved && len(parts) > 0:
			if !slices.Contains(rest, remark.code) {
				rest = append(rest, remark.code)
			}
		case several && most > 1:
			parts = append(parts, remark.part+": "+text)
		default:
			parts = append(parts, text)
		}
	}
	if len(rest) > 0 {
		parts = append(parts, "the rest is INVALID: "+enumerated(rest))
	}
	text := strings.Join(parts, "; ")
	switch r.standing {
	case planned:
		text = "cannot be run yet"
	case failed:
		text = "could not be measured: " + plain.Line(e.Error)
	case interrupted:
		text = soFar + cmp.Or(text, "nothing was measured")
	case unmeasured:
		text = cmp.Or(text, "nothing that answers it was measured")
		if len(e.Warnings) > 0 {
			text += ": " + e.Warnings[0].Text
		}
	}
	return text
}

// means is what follows from what was measured here.
func (r reply) means() string {
	var sentences []string
	for _, remark := range r.answer {
		if remark.standing == r.standing && remark.means != "" && !slices.Contains(sentences, remark.means) {
			sentences = append(sentences, remark.means)
		}
	}
	return strings.Join(sentences[:min(2, len(sentences))], " ")
}

// published is the published answer with its caveat in brackets; "" if nothing was published.
func (a Answer) published() string {
	text := strings.TrimSuffix(a.Published, ".")
	if text != "" && a.Caveat != "" {
		text += " (" + strings.TrimSuffix(a.Caveat, ".") + ")"
	}
	return text
}

// labTrust is the status of the answers of several experiments.
func (d *Document) labTrust(list []reply) string {
	counts := map[standing]int{}
	unmet, warnings, level := 0, 0, 0.0
	for _, r := range list {
		level = max(level, r.level())
		unmet, warnings = unmet+len(r.broken), warnings+len(r.warnings.list)
		for _, remark := range slices.Concat(r.answer, r.beside) {
			counts[remark.standing]++
		}
	}
	text := "Valid where answered"
	if !slices.ContainsFunc(list, func(r reply) bool { return r.standing == answered }) {
		text = "No result"
	}
	text += confident(level) + "."
	var remarks []string
	if n := counts[disbelieved]; n > 0 {
		remarks = append(remarks, fmt.Sprintf("%d INVALID", n))
	}
	if unmet > 0 {
		remarks = append(remarks, plural(unmet, "failed expectation"))
	}
	if warnings > 0 {
		remarks = append(remarks, plural(warnings, "caveat"))
	}
	if len(remarks) > 0 {
		text += " " + strings.Join(remarks, ", ") + "."
	}
	return text + " " + d.length()
}

// length says with which profile the experiments ran, and how long.
func (d *Document) length() string {
	var elapsed time.Duration
	var profiles []string
	for _, e := range d.Experiments {
		elapsed += e.Elapsed
		if e.Profile != "" && !slices.Contains(profiles, e.Profile) {
			profiles = append(profiles, e.Profile)
		}
	}
	text := "Took " + window(elapsed)
	if len(profiles) > 0 {
		text += fmt.Sprintf(" (%s)", strings.Join(profiles, ", "))
	}
	return text + "."
}

// ofExperiment is the page of one experiment.
func (d *Document) ofExperiment(s *screen, e Experiment, r reply) {
	if len(d.nothingRight(d.primaryOf(e))) > 0 {
		r.warnings = r.warnings.telling()
	}
	s.trust = r.trust(d)
	s.label(gutter+"question", cmp.Or(e.Question, e.Title), "")
	s.label(gutter+"published", e.Answer.published(), "")
	s.remarks(slices.Concat(r.answer[min(1, len(r.answer)):], r.beside))
	s.broken(r)
	d.becauseInShort(&s.view, d.primaryOf(e))
	if counted := r.warnings.counted(); counted != "" {
		s.also = append(s.also, counted)
	}
}

// mostRemarks are those on the page of an experiment.
const mostRemarks = 6

// remarks has a label with part and verdict for each remark.
func (v *view) remarks(list []remark) {
	part, verdict := 0, 0
	for _, r := range list {
		part, verdict = max(part, plain.Width(plain.Clip(r.part, mostOfWord))), max(verdict, plain.Width(plain.Clip(r.verdict, mostOfWord)))
	}
	pad := func(text string, to int) string {
		text = plain.Clip(plain.Line(text), mostOfWord)
		return text + strings.Repeat(" ", max(0, to-plain.Width(text)))
	}
	if len(list) > 0 {
		v.draw("")
	}
	for _, r := range list[:min(len(list), mostRemarks)] {
		v.label(gutter+pad(r.part, part)+gutter+pad(r.verdict, verdict), r.text, "")
	}
	if more := len(list) - mostRemarks; more > 0 {
		v.aside("%d more: add --full", more)
	}
}

// trust is the status of the answer of an experiment.
func (r reply) trust(d *Document) string {
	text := ""
	switch r.standing {
	case answered:
		text = "Valid" + confident(r.level()) + withCaveats(len(r.warnings.list))
	case undecided:
		text = string(stat.Inconclusive) + confident(r.level())
	case disbelieved:
		text = string(stat.Invalid)
	case interrupted:
		text = "Partial result" + confident(r.level())
	case failed:
		text = "FAILED: nothing below answers the question"
	default:
		text = "No result"
	}
	text += r.refused()
	if len(r.broken) > 0 {
		text += fmt.Sprintf("; %s failed", plural(len(r.broken), "expectation"))
	}
	if text += "."; r.means() != "" {
		text += " " + r.means()
	}
	if r.standing == planned {
		return text
	}
	return text + " " + d.length()
}

// afterLab says what to do next.
func (d *Document) afterLab(list []reply) (steps []Step) {
	var again, failures []string
	var spoilt []Step
	longer, fix := "", ""
	for i, r := range list {
		e := d.Experiments[i]
		switch profile := longerProfile(e.Profile); {
		case r.standing == failed:
			failures = append(failures, Quoted(e.name()))
			fix = cmp.Or(fix, e.toFind())
		case r.standing == disbelieved && len(d.nothingRight(d.primaryOf(e))) > 0:
			spoilt = append(spoilt, d.toFix(d.nothingRight(d.primaryOf(e))[0]))
		case r.standing == disbelieved:
			spoilt = append(spoilt, advise("contend explain "+r.answer[0].code+" says what to do about INVALID"))
		case r.standing == undecided && profile != "":
			again, longer = append(again, Quoted(e.name())), profile
		}
	}
	if len(failures) > 0 {
		steps = append(steps, Step{cmp.Or(fix, "fix what failed") + ", then rerun it", "contend lab " + strings.Join(failures, " ")})
	}
	if len(spoilt) > 0 {
		steps = append(steps, spoilt[0])
	}
	if len(again) > 0 {
		steps = append(steps, Step{"measure longer what is inconclusive", "contend lab " + strings.Join(again, " ") + " --profile " + longer})
	}
	show := advise(addFull + "every number")
	if d.Again != "" {
		show = Step{EveryNumber, d.Again + " --full"}
	}
	if slices.ContainsFunc(d.Experiments, func(e Experiment) bool { return len(e.Published) > 0 }) {
		show.Purpose += ", published next to measured"
	}
	return append(steps, show)
}

// plainWord is a word that a shell takes as it is.
var plainWord = lazyregexp.New(`^[-A-Za-z0-9_./:=,@%+]+$`)

// Quoted is a word as both a shell and experiment.SplitWords read it.
func Quoted(word string) string {
	if plainWord().MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'"
}

// name is what contend lab calls the experiment by.
func (e Experiment) name() string { return cmp.Or(e.File, e.ID) }

// Profiles returns the names of the profiles of experiments, the shortest run first.
func Profiles() []string { return []string{"quick", "standard", "published"} }

// longerProfile is the profile that measures longer than this one; "" for the longest.
func longerProfile(profile string) string {
	if i := slices.Index(Profiles(), profile); i >= 0 && i+1 < len(Profiles()) {
		return Profiles()[i+1]
	}
	return ""
}
