package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The lines of a page about one experiment, without the figures of one's own, and of a row in the
// table of several.
const (
	mostOfExperiment = 12
	mostOfRow        = 10
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
		return d.experimentPage(d.Experiments[0], replies[0]), m
	}
	lines := broken(d.labSentence(replies), most, "  ")
	lines = append(lines, broken(d.labTrust(replies), most, "  ")...)
	lines = append(lines, "")
	lines = append(lines, d.labTable(replies, most)...)
	lines = append(lines, "")
	return append(lines, broken("Next: "+d.afterLab(replies), most, "  ")...), m
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
		return "All " + all + " are answered."
	case len(not) == len(list):
		return fmt.Sprintf("None of %s is answered: %s.", all, strings.Join(not, ", "))
	}
	n := len(list) - len(not)
	return fmt.Sprintf("%d of %s %s answered; not %s.", n, all, either(n == 1, "is", "are"), strings.Join(not, ", "))
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
		parts = append(parts, "Do not believe the rest: "+enumerated(rest))
	}
	text := strings.Join(parts, ". ")
	switch r.standing {
	case planned:
		text = "Planned: this experiment cannot be run yet"
	case failed:
		text = "It could not be measured: " + clean(e.Error)
	case interrupted:
		text = soFar + cmp.Or(text, "nothing was measured")
	case unmeasured:
		text = cmp.Or(text, "Nothing that answers it was measured")
		if len(e.Warnings) > 0 {
			text += ": " + e.Warnings[0].Text
		}
	}
	return text + "."
}

// means is what follows from ours.
func (r reply) means() string {
	var sentences []string
	for _, remark := range r.answer {
		if remark.standing == r.standing && remark.means != "" && !slices.Contains(sentences, remark.means) {
			sentences = append(sentences, remark.means)
		}
	}
	return strings.Join(sentences[:min(2, len(sentences))], " ")
}

// caveat is what is to be known of the published answer.
func (a Answer) caveat() string {
	if a.Caveat == "" {
		return ""
	}
	return upper(strings.TrimSuffix(a.Caveat, ".")) + "."
}

// labTrust says what the answers of several experiments are worth.
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
	text := "Believe what is answered"
	if !slices.ContainsFunc(list, func(r reply) bool { return r.standing == answered }) {
		text = "There is nothing to believe"
	}
	text += confident(level)
	if n := counts[disbelieved]; n > 0 {
		text += fmt.Sprintf("; do not believe what is INVALID (%d)", n)
	}
	if unmet > 0 {
		text += fmt.Sprintf("; %s failed", plural(unmet, "expectation"))
	}
	if warnings > 0 {
		text += "; " + plural(warnings, "warning")
	}
	return text + ". " + d.length()
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
	text := fmt.Sprintf("Measured in %v", elapsed.Round(time.Second))
	if len(profiles) > 0 {
		text += ", profile " + strings.Join(profiles, ", ")
	}
	return text + "."
}

// gutter stands between the columns of a table, and mostOfWord is how wide one for a name
// or a verdict may be.
const (
	gutter     = "  "
	mostOfWord = 24
)

// labTable has a row for each experiment, whose cells take several lines.
func (d *Document) labTable(list []reply, most int) []string {
	heads, widths := []string{"question", "published", "ours", "what it means"}, []int{22, 20, 28, 24}
	if !slices.ContainsFunc(d.Experiments, func(e Experiment) bool { return e.Answer.Published != "" }) {
		heads, widths = slices.Delete(heads, 1, 2), []int{26, 38, 32}
	}
	for i, columns := range widths {
		widths[i] = columns * most / textWidth
	}
	lines := row(heads, widths, 1)
	for i, e := range d.Experiments {
		r := list[i]
		ours := r.said(e, len(r.answer))
		for _, text := range r.broken {
			ours += " " + upper(text) + "."
		}
		cells := []string{e.ID + ": " + cmp.Or(e.Question, e.Title), cmp.Or(e.Answer.Published, "-"), ours, strings.TrimSpace(r.means() + " " + e.Answer.caveat())}
		if len(heads) < len(cells) {
			cells = slices.Delete(cells, 1, 2)
		}
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, row(cells, widths, mostOfRow)...)
	}
	return lines
}

// row sets texts side by side, each broken to the width of its column, on at most so many
// lines.
func row(cells []string, widths []int, most int) []string {
	columns := make([][]string, len(cells))
	height := 0
	for i, cell := range cells {
		columns[i] = broken(clean(cell), widths[i], "")
		if len(columns[i]) > most {
			columns[i] = columns[i][:most]
			columns[i][most-1] = clip(columns[i][most-1]+"…", widths[i])
		}
		height = max(height, len(columns[i]))
	}
	lines := make([]string, height)
	for n := range lines {
		for i, column := range columns {
			text := ""
			if n < len(column) {
				text = column[n]
			}
			if i > 0 {
				lines[n] += gutter
			}
			lines[n] += text + strings.Repeat(" ", max(0, widths[i]-width(text)))
		}
		lines[n] = strings.TrimRight(lines[n], " ")
	}
	return lines
}

// experimentPage answers the question of one experiment.
func (d *Document) experimentPage(e Experiment, r reply) []string {
	head := slices.Concat(wrapped(d.labSentence([]reply{r})), wrapped(r.trust(d)),
		wrapped("Question: "+cmp.Or(e.Question, e.Title)))
	if e.Answer.Published != "" {
		head = append(head, wrapped("Published: "+strings.TrimSuffix(e.Answer.Published, ".")+". "+e.Answer.caveat())...)
	}
	var unmet, care []string
	for _, text := range r.broken {
		unmet = append(unmet, wrapped("! "+text)...)
	}
	if len(d.nothingRight(d.primaryOf(e))) > 0 {
		r.warnings = r.warnings.telling()
	}
	if counted := r.warnings.counted(); counted != "" {
		care = append(care, "Warnings (contend explain CODE): "+counted)
	}
	next := wrapped("Next: " + d.afterLab([]reply{r}))
	room := mostOfExperiment - len(head) - len(care) - len(next)
	if len(unmet) > room {
		unmet = append(unmet[:max(0, room-1)], fmt.Sprintf("! of %s that failed: --full", plural(len(r.broken), "expectation")))
	}
	rest := slices.Concat(r.answer[min(1, len(r.answer)):], r.beside)
	return slices.Concat(head, remarkRows(rest, room-len(unmet)), d.whyInShort(d.primaryOf(e)), unmet, care, next)
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
	return append(rows(list[:room-1], 1), fmt.Sprintf("%sand %d more: --full", gutter, len(list)-room+1))
}

// trust says whether to believe the answer of an experiment.
func (r reply) trust(d *Document) string {
	text := ""
	switch r.standing {
	case answered:
		text = "Believe it"
		if len(r.warnings.list) > 0 {
			text += " with the warnings in mind"
		}
	case undecided:
		text = "Do not decide by it"
	case disbelieved:
		text = "Do not believe it"
	case interrupted:
		text = "Only a part was measured"
	case failed:
		text = "FAILED: no figure below what was asked for"
	default:
		text = "There is nothing to believe"
	}
	text += confident(r.level()) + r.refused()
	if len(r.broken) > 0 {
		text += fmt.Sprintf("; %s failed (!)", plural(len(r.broken), "expectation"))
	}
	text += "."
	if means := r.means(); means != "" {
		text += " " + means
	}
	if r.standing == planned {
		return text
	}
	return text + " " + d.length()
}

// afterLab says what to do next.
func (d *Document) afterLab(list []reply) string {
	var again, failures, spoilt []string
	longer, mend := "", ""
	for i, r := range list {
		e := d.Experiments[i]
		switch profile := longerProfile(e.Profile); {
		case r.standing == failed:
			failures = append(failures, e.name())
			mend = cmp.Or(mend, e.toFind())
		case r.standing == disbelieved && len(d.nothingRight(d.primaryOf(e))) > 0:
			spoilt = append(spoilt, d.toMend(d.nothingRight(d.primaryOf(e))[0]))
		case r.standing == disbelieved:
			spoilt = append(spoilt, "contend explain "+r.answer[0].code)
		case r.standing == undecided && profile != "":
			again, longer = append(again, e.name()), profile
		}
	}
	show := cmp.Or(d.Again, "the same command with") + " --full shows every figure"
	if slices.ContainsFunc(d.Experiments, func(e Experiment) bool { return len(e.Published) > 0 }) {
		show += ", theirs beside ours"
	}
	var steps []string
	if len(failures) > 0 {
		steps = append(steps, cmp.Or(mend, "mend the cause")+", then contend lab "+strings.Join(failures, " "))
	}
	if len(spoilt) > 0 {
		steps = append(steps, spoilt[0])
	}
	if len(again) > 0 {
		steps = append(steps, fmt.Sprintf("contend lab %s --profile %s measures longer what is not decided", strings.Join(again, " "), longer))
	}
	return strings.Join(append(steps, show), "; ")
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
