package cli

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"contend/experiment"
	"contend/protocol"
	"contend/setting"
	"contend/trial"
)

// instances are values of settings that have no default, for lines of an experiment file
// that are not in force. What has neither is left to docs/experiment-file.md.
var instances = map[string]string{
	"load.rate": "1000", "compare.rounds": "20", "compare.duration": "2m", "compare.precision": "1%",
	"compare.block": "400ms", "compare.margin": "2%", "compare.answers_may_differ": "true",
}

// What the value of a line that is not in force is.
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
	f.say("", "contend lab "+quoted(n.path())+" runs this experiment. Lines that begin with # and a name are not in force: "+
		"they show what else there is, each with what holds without it (default) or with a value to begin from (example). docs/experiment-file.md of contend describes every field, and "+
		"contend explain WORD what words mean.")
	f.line("id: " + idOf(n.path()))
	f.line("title: " + yamlText(e.Title))
	f.line("question: Which is faster, and is that sure?")
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

// off writes a line that is not in force, and what its value is.
func (f *fileText) off(indent, text, is string) { f.line(indent + "#" + text + " # " + is) }

// say writes a comment.
func (f *fileText) say(indent, text string) { writeWrapped(&f.Builder, text, indent+"# ", indent+"# ") }

func (f *fileText) subjects(arms []arm, subjects map[string]experiment.Subject) {
	f.line("")
	f.say("", "The servers. Each is started afresh for every round and stopped after it; {{addr}} is a free address "+
		"of this machine. It is ready when it accepts connections, or when the path of ready answers 200.")
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
	f.say("", "What is sent, to each of them. As its protocol allows, there are also "+strings.Join(names, ", ")+".")
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

// section writes the settings of a section: those that are given, and the others that have
// a default or an instance as lines that are not in force.
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
	f.say("", "What must hold at every concurrency, or else the exit code is 3: of all servers, or of one.")
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

// plainYAML is what needs no quotes as a value of YAML, but for null.
var plainYAML = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.%]*$`)

// yamlText is a text as a value of YAML. What strconv quotes is read as such by YAML
// (YAML 1.2, section 5.7), which has the same escapes.
func yamlText(text string) string {
	if plainYAML.MatchString(text) && !strings.EqualFold(text, "null") {
		return text
	}
	return strconv.Quote(text)
}
