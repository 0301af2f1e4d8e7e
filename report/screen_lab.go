package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"contend/stat"
)

// The lines of a page about one experiment, and of each text about one of several.
const (
	mostOfExperiment = 18
	mostOfRow        = 4
)

// isLab says whether the document is about experiments, which answer questions. A comparison out of
// a user's own file is none: its page is that of any comparison.
func (d *Document) isLab() bool {
	_, own := d.own()
	return d.Command == "lab" && len(d.Experiments) > 0 && !own
}

// labPage answers the questions of the experiments at a width: one in full, several in a table.
func (d *Document) labPage(most int) ([]string, mood) {
	replies := d.replies()
	m := moodOfReplies(replies)
	if len(replies) == 1 {
		return d.experimentPage(d.Experiments[0], replies[0], most), m
	}
	lines := broken(d.labSentence(replies), most, "  ")
	lines = append(lines, broken(d.labTrust(replies), most, "  ")...)
	lines = append(lines, "")
	for i, r := range replies {
		lines = append(lines, d.labBlock(d.Experiments[i], r, most)...)
		lines = append(lines, "")
	}
	return append(lines, d.afterLab(replies, most)...), m
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

// said is what came out, in words: at most so many of the remarks that answer.
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
		text = "could not be measured: " + clean(e.Error)
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

// published is the published answer with its caveat in brackets; "": there is none.
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
	text := fmt.Sprintf("Took %v", elapsed.Round(time.Second))
	if len(profiles) > 0 {
		text += fmt.Sprintf(" (%s)", strings.Join(profiles, ", "))
	}
	return text + "."
}

// experimentPage answers the question of one experiment.
func (d *Document) experimentPage(e Experiment, r reply, most int) []string {
	if len(d.nothingRight(d.primaryOf(e))) > 0 {
		r.warnings = r.warnings.telling()
	}
	lines := slices.Concat(wrapped(d.labSentence([]reply{r})), wrapped(r.trust(d)),
		labelled(gutter+"question", cmp.Or(e.Question, e.Title), textWidth))
	if text := e.Answer.published(); text != "" {
		lines = append(lines, labelled(gutter+"published", text, textWidth)...)
	}
	var care []string
	if counted := r.warnings.counted(); counted != "" {
		care = append([]string{""}, wrapped("! "+counted)...)
	}
	next := append([]string{""}, d.afterLab([]reply{r}, most)...)
	var unmet []string
	for _, text := range r.broken[:min(len(r.broken), mostFailed)] {
		unmet = append(unmet, labelled(gutter+"FAIL", text, textWidth)...)
	}
	if more := len(r.broken) - mostFailed; more > 0 {
		unmet = append(unmet, fmt.Sprintf("%sFAIL  %d more: add --full", gutter, more))
	}
	room := mostOfExperiment - len(lines) - len(care) - len(next) - len(unmet)
	if rows := remarkRows(slices.Concat(r.answer[min(1, len(r.answer)):], r.beside), room); len(rows) > 0 {
		lines = append(append(lines, ""), rows...)
	}
	because := new(view)
	d.becauseInShort(because, d.primaryOf(e))
	return slices.Concat(lines, unmet, because.lines(), care, next)
}

// remarkRows has a row for each remark, as far as there is room: on two lines each where
// all of them fit, else on one.
func remarkRows(list []remark, room int) []string {
	if len(list) == 0 || room < 1 {
		return nil
	}
	widths := []int{0, 0, 0}
	for _, r := range list {
		widths[0], widths[1] = max(widths[0], width(r.part)), max(widths[1], width(r.verdict))
	}
	widths[0], widths[1] = min(widths[0], mostOfWord), min(widths[1], mostOfWord)
	widths[2] = textWidth - widths[0] - widths[1] - 3*len(gutter)
	rows := func(list []remark, most int) (lines []string) {
		for _, r := range list {
			for _, line := range row([]string{r.part, r.verdict, r.text}, widths, most) {
				lines = append(lines, gutter+line)
			}
		}
		return lines
	}
	if lines := rows(list, 2); len(lines) <= room {
		return lines
	}
	if len(list) <= room {
		return rows(list, 1)
	}
	return append(rows(list[:room-1], 1), fmt.Sprintf("%s%d more: add --full", gutter, len(list)-room+1))
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

// afterLab says what to do next, each step on lines of its own.
func (d *Document) afterLab(list []reply, most int) (lines []string) {
	var again, failures, spoilt []string
	longer, fix := "", ""
	for i, r := range list {
		e := d.Experiments[i]
		switch profile := longerProfile(e.Profile); {
		case r.standing == failed:
			failures = append(failures, shellWord(e.name()))
			fix = cmp.Or(fix, e.toFind())
		case r.standing == disbelieved && len(d.nothingRight(d.primaryOf(e))) > 0:
			spoilt = append(spoilt, d.toFix(d.nothingRight(d.primaryOf(e))[0]))
		case r.standing == disbelieved:
			spoilt = append(spoilt, "contend explain "+r.answer[0].code+" says what to do about INVALID")
		case r.standing == undecided && profile != "":
			again, longer = append(again, shellWord(e.name())), profile
		}
	}
	say := func(text string) { lines = append(lines, broken("Next: "+text, most, "  ")...) }
	if len(failures) > 0 {
		say(cmp.Or(fix, "fix what failed") + ", then rerun it")
		lines = append(lines, pasted(append([]string{"contend", "lab"}, failures...), most)...)
	}
	if len(spoilt) > 0 {
		say(spoilt[0])
	}
	if len(again) > 0 {
		say("measure longer what is inconclusive")
		lines = append(lines, pasted(append(append([]string{"contend", "lab"}, again...), "--profile", longer), most)...)
	}
	show := "add --full for every number"
	if d.Again != "" {
		show = d.Again + " --full shows every number"
	}
	if slices.ContainsFunc(d.Experiments, func(e Experiment) bool { return len(e.Published) > 0 }) {
		show += ", published next to measured"
	}
	say(show)
	return lines
}

// shellWord is a name as one word of a command line.
func shellWord(name string) string {
	if strings.ContainsAny(name, " '\"$`\\") {
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return name
}

// name is what contend lab calls the experiment by.
func (e Experiment) name() string { return cmp.Or(e.File, e.ID) }

// Profiles returns the names of the profiles of experiments, the shortest run first.
func Profiles() []string { return []string{"quick", "standard", "published"} }

// longerProfile is the one that measures longer than this; "": there is none.
func longerProfile(profile string) string {
	if i := slices.Index(Profiles(), profile); i >= 0 && i+1 < len(Profiles()) {
		return Profiles()[i+1]
	}
	return ""
}
