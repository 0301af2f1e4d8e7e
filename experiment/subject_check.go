package experiment

import (
	"fmt"
	"net"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"contend/internal/lazyregexp"
	"contend/setting"
	"contend/subject"
)

func (v *validator) subject(path, name string, s Subject) {
	if !nameForm().MatchString(name) {
		v.addSentence(path, "the name is %q; %s", name, nameAllowed)
	}
	if s.Command+s.Serve+s.URL == "" && !v.anyUnread("command", "serve", "url") {
		v.missing(path, "one of command, serve and url")
	}
	for _, f := range s.flaws() {
		v.addSettings(strings.TrimSuffix(path+"."+f.Path(), "."), []*setting.Mistake{f})
	}
}

// addSentence is add for a text with a subject of its own.
func (c *subjectCheck) addSentence(field, format string, args ...any) {
	c.add(field, format, args...)
	c.found[len(c.found)-1].Sentence = true
}

// flaws returns what is wrong with the fields of a subject, by their paths below it.
func (s Subject) flaws() []*setting.Mistake {
	c := &subjectCheck{Subject: s}
	if s.Elsewhere() != "" {
		c.elsewhere()
		return c.found
	}
	c.kinds()
	c.surroundings()
	for _, name := range sortedKeys(s.Files) {
		c.file("files."+name, name)
	}
	return c.found
}

type subjectCheck struct {
	Subject
	found []*setting.Mistake
}

func (c *subjectCheck) add(field, format string, args ...any) {
	c.found = append(c.found, mistakeAt(field, format, args...))
}

func (c *subjectCheck) kinds() {
	var kinds []string
	for _, kind := range []struct{ name, value string }{{"command", c.Command}, {"serve", c.Serve}, {"url", c.URL}} {
		if kind.value == "" {
			continue
		}
		kinds = append(kinds, kind.name)
		if kind.name == "url" {
			continue
		}
		if words, err := SplitWords(kind.value); err != nil {
			c.addSentence(kind.name, "%v", err)
		} else if _, command := Assigned(words); len(command) == 0 {
			c.add(kind.name, "is %q; expected a program", kind.value)
		} else if sign := shellSign(kind.value); sign != "" {
			c.add(kind.name, "contains %s, but the command does not run in a shell; give one program with arguments, or sh -c \"COMMANDS\"", sign)
		}
		text := c.withoutDir(kind.value)
		if kind.name == "command" && c.Program != "" {
			text = strings.ReplaceAll(text, "{{out}}", "")
		}
		c.placeholders(kind.name, text)
	}
	if len(kinds) > 1 {
		c.addSentence("", "%s are both set; expected one of command, serve and url", strings.Join(kinds, " and "))
	}
	if systems := []string{"linux", "darwin", "windows"}; c.OS != "" && !slices.Contains(systems, c.OS) {
		c.add("os", "is %q%s", c.OS, oneOf(c.OS, systems))
	}
}

// What only a shell understands, outside of quotes: what comes between commands, and before files.
var (
	inQuotes  = lazyregexp.New(`'[^']*'|"[^"]*"`)
	shellWord = lazyregexp.New(`^(?:&&?|\|\|?|[0-9&]?>.*|<.*)$|^[^;]*;$`)
)

// shellSign is the first sign of a shell in a command; "": none.
func shellSign(command string) string {
	words := strings.Fields(inQuotes().ReplaceAllString(command, "q"))
	i := slices.IndexFunc(words, shellWord().MatchString)
	if i < 0 {
		return ""
	}
	return words[i]
}

// isStarted reports whether the subject is a process of ours.
func (s Subject) isStarted() bool { return s.Command != "" || s.Serve != "" }

// surroundings checks what goes with a command.
func (c *subjectCheck) surroundings() {
	if c.URL != "" {
		if _, _, err := net.SplitHostPort(c.URL); err != nil {
			c.add("url", "is %q; expected host:port", c.URL)
		}
		if !reflect.ValueOf(c.Ready).IsZero() || len(c.Env) > 0 || c.Dir != "" || len(c.Files) > 0 || c.StopTimeout != 0 {
			c.addSentence("", "ready, env, dir, files and stop_timeout do not apply to url: it is not started here")
		}
	}
	for i, entry := range c.Env {
		at := fmt.Sprintf("env[%d]", i)
		if key, _, ok := strings.Cut(entry, "="); !ok || key == "" {
			c.add(at, "is %q; expected KEY=VALUE", entry)
		}
		c.placeholders(at, c.withoutDir(entry))
	}
	if h := c.Ready.HTTP; h != "" {
		if !strings.HasPrefix(h, "/") && !strings.HasPrefix(h, "http://") {
			c.add("ready.http", "is %q; expected a path such as /ready, or an http:// URL", h)
		}
		c.placeholders("ready.http", h)
	}
	if _, err := regexp.Compile(c.Ready.Log); err != nil {
		c.add("ready.log", "is %q; expected a regular expression (%v)", c.Ready.Log, err)
	}
}

// file checks a file that goes with a command.
func (c *subjectCheck) file(at, name string) {
	if !filepath.IsLocal(name) {
		c.addSentence(at, "the path must stay below {{dir}}")
	}
	content := strings.ReplaceAll(c.Files[name], "{{dir}}", "")
	for _, found := range generated().FindAllString(content, -1) {
		if _, err := textSize(found); err != nil {
			c.addSentence(at, "%v", err)
		}
	}
	c.placeholders(at, generated().ReplaceAllString(content, ""), "{{dir}}", "{{text SIZE}}")
}

// withoutDir leaves out {{dir}}, which a subject with files has.
func (s Subject) withoutDir(text string) string {
	if len(s.Files) == 0 {
		return text
	}
	return strings.ReplaceAll(text, "{{dir}}", "")
}

// placeholders checks those of a text, which may also hold those of others.
func (c *subjectCheck) placeholders(field, text string, others ...string) {
	for _, found := range subject.Unknown(text) {
		c.add(field, "has the placeholder %s; expected %s", found, strings.Join(append([]string{subject.Placeholders}, others...), ", "))
	}
}

var urlPlaceholder = lazyregexp.New(`^\{\{ *(addr|vu|iteration|row|uuid|random .*|".*") *\}\}$`)
