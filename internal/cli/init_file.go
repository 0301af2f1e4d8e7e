package cli

import (
	"slices"
	"strconv"
	"strings"

	"contend/experiment"
	"contend/internal/lazyregexp"
	"contend/protocol"
	"contend/report"
	"contend/setting"
	"contend/trial"
)

// instances are example values of settings that have no default, for commented-out lines of an
// experiment file. A setting with neither is left to docs/experiment-file.md.
var instances = map[string]string{
	"load.rate": "1000", "compare.rounds": "20", "compare.duration": "2m", "compare.precision": "1%",
	"compare.block": "400ms", "compare.margin": "2%", "compare.answers_may_differ": "true",
}

// The value of a commented-out line.
const (
	theDefault = "default"
	anExample  = "example"
)

// comparing are the settings of a comparison that a file can give.
func comparing() []setting.Setting {
	return slices.DeleteFunc(append(setting.Of(trial.Design{}), ofPlan()...), func(s setting.Setting) bool { return s.Path == "" })
}

// text is the experiment file of what the command line asks for.
func (n *initFlags) text(arms []arm, e *experiment.Experiment) string {
	f := &fileText{}
	f.say("", "Run this experiment with contend lab "+report.Quoted(n.path())+". Commented-out lines show further settings, each with its default or an example. "+
		"docs/experiment-file.md of contend describes every field; contend explain WORD explains a word.")
	f.line("id: " + idOf(n.path()))
	f.line("title: " + yamlText(e.Title))
	f.line("question: Which is faster, and how certain is that?")
	if e.Subjects != nil {
		f.subjects(arms, e.Subjects)
	}
	f.target(n.spec.target())
	if e.Subjects == nil {
		f.line("\narms:")
		for _, a := range arms {
			f.line("  " + a.name + ":")
			f.line("    target: {url: " + yamlText(a.does) + "}")
		}
	}
	f.line("\nload:")
	f.section("load.", n.given)
	f.line("\ncompare:")
	var arranged experiment.Arrangement
	f.say("  ", setting.At(&arranged, &arranged.Baseline).Words)
	f.line("  baseline: " + arms[0].name)
	f.section("compare.", n.given)
	f.expected(arms)
	return f.String()
}

// fileText is a file in the making.
type fileText struct{ strings.Builder }

func (f *fileText) line(text string) { f.WriteString(text + "\n") }

// off writes a commented-out line, and what its value is.
func (f *fileText) off(indent, text, is string) { f.line(indent + "#" + text + " # " + is) }

// say writes a comment.
func (f *fileText) say(indent, text string) { writeWrapped(&f.Builder, text, indent+"# ", indent+"# ") }

func (f *fileText) subjects(arms []arm, subjects map[string]experiment.Subject) {
	f.line("")
	f.say("", "The servers. Each is restarted in every round; {{addr}} becomes a free address of this machine. "+
		"A server is ready when it accepts connections, or when the path of ready returns 200.")
	f.line("subjects:")
	for _, a := range arms {
		s := subjects[a.name]
		f.line("  " + a.name + ":")
		f.line("    command: " + yamlText(s.Command))
		f.off("    ", "ready: {http: /}", anExample)
		if len(s.Env) > 0 {
			f.line("    env: " + yamlList(s.Env))
		}
		if s.Dir != "" {
			f.line("    dir: " + yamlText(s.Dir))
		}
	}
}

// target writes what is given of the target.
func (f *fileText) target(target protocol.Target) {
	var names []string
	for _, s := range protocol.Settings() {
		if _, given := target[s.Path]; !given && s.Words != "" && s.Path != "url" {
			names = append(names, s.Path)
		}
	}
	f.line("")
	f.say("", "What to send to each server. Further settings, depending on the protocol: "+strings.Join(names, ", ")+".")
	if len(target) == 0 {
		f.line("target: {}")
		return
	}
	f.line("target:")
	for _, s := range protocol.Settings() {
		given, ok := target[s.Path]
		switch {
		case !ok:
			continue
		case s.Words != "":
			f.say("  ", s.Words)
		}
		f.line("  " + s.Path + ": " + yamlValue(s, given.Texts))
	}
}

// section writes the settings of a section: those that are given, and as commented-out lines the
// others that have a default or an example.
func (f *fileText) section(section string, given setting.Values) {
	for _, s := range comparing() {
		name, ok := strings.CutPrefix(s.Path, section)
		value, asked := given[s.Flag]
		switch {
		case !ok:
		case asked || s.Example != "":
			f.say("  ", s.Words)
			f.line("  " + name + ": " + yamlValue(s, written(s, value.Texts)))
		case s.Default != "":
			f.say("  ", s.Words)
			f.off("  ", name+": "+yamlValue(s, written(s, nil)), theDefault)
		case instances[s.Path] != "":
			f.say("  ", s.Words)
			f.off("  ", name+": "+yamlValue(s, elements(s, instances[s.Path])), anExample)
		}
	}
}

// written are texts of the command line as a file has them: a share with its %. Without
// any they are the default.
func written(s setting.Setting, texts []string) []string {
	text := s.Default
	if texts != nil {
		value, _ := s.Read(setting.Value{Texts: texts}, setting.InFlags) // mistakes have been found
		text = s.Text(value.Interface())
	}
	return elements(s, text)
}

// elements are those of a list, or the text alone.
func elements(s setting.Setting, text string) []string {
	if !s.List() {
		return []string{text}
	}
	return strings.Split(text, ",")
}

// expected writes the claims.
func (f *fileText) expected(arms []arm) {
	f.line("")
	f.say("", "What must hold at every concurrency, for all servers or for one; otherwise the exit code is 3.")
	f.line("expect:")
	f.line(`  - "errors < 0.1%"`)
	for _, a := range arms[1:] {
		f.off("  ", `- "`+a.name+`.throughput >= 0.98 * `+arms[0].name+`.throughput"`, anExample)
	}
}

func yamlValue(s setting.Setting, texts []string) string {
	if s.List() {
		return yamlList(texts)
	}
	return yamlText(texts[len(texts)-1])
}

func yamlList(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = yamlText(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// plainYAML matches what needs no quotes as a value of YAML, except null.
var plainYAML = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.%]*$`)

// yamlText is a text as a value of YAML. What strconv quotes is read as such by YAML
// (YAML 1.2, section 5.7), which has the same escapes.
func yamlText(text string) string {
	if plainYAML().MatchString(text) && !strings.EqualFold(text, "null") {
		return text
	}
	return strconv.Quote(text)
}
