package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"contend/discover"
	"contend/experiment"
	"contend/failure"
	"contend/protocol"
	"contend/protocol/wire"
	"contend/report"
	"contend/setting"
)

// programForm is what a target looks like that contend starts.
const programForm = "./server, 'COMMAND ARG', or -- COMMAND ARG, which contend starts, and finds where it listens"

// portChoice is what is given of servers whose URL contend finds out.
type portChoice struct {
	Port int `flag:"port" min:"1" max:"65535" words:"without a URL: of a server that listens on several ports, the *number* of the one to drive"`
}

// checkPort returns what is wrong with a port where there is a URL.
func (f portChoice) checkPort(o *options) error {
	if o.has("port") {
		return setting.FlagErrors(setting.At(&f, &f.Port).Wrong("is %d, but the URL says the port; use one of them", f.Port))
	}
	return nil
}

// isCommand reports whether an argument can only be meant as a command line: neither a URL
// nor a document, but a path or words.
func isCommand(arg string) bool {
	switch {
	case protocol.IsURL(arg), strings.HasSuffix(arg, ".json"), experiment.Subject{Command: arg}.Elsewhere() != "":
		return false
	case protocol.IsScript(arg): // and is where a server is expected
		return true
	}
	program, _, several := strings.Cut(arg, " ")
	info, err := os.Stat(arg)
	if err == nil {
		return info.Mode().IsRegular() && (info.Mode()&0o111 != 0 || discover.Runner(arg) != "" || discover.IsProgram(arg))
	}
	_, missing := exec.LookPath(program)
	return several || missing == nil || strings.HasPrefix(program, "./") || strings.HasPrefix(program, "/")
}

// started is how an argument is started that names a program here: as ./server, not server.
func started(arg string) string {
	if info, err := os.Stat(arg); err != nil || !info.Mode().IsRegular() {
		return arg
	}
	if _, err := exec.LookPath(arg); err != nil && !strings.Contains(arg, "/") {
		arg = "./" + arg
	}
	return report.Quoted(arg)
}

// discovers reports whether the arguments are programs whose URL contend has to find out: what comes after -- is a
// command, whatever it looks like.
func (c *compareFlags) discovers(cmd *cobra.Command, args []string) (bool, error) {
	if c.URL != "" || len(subjectsOf(args...)) > 0 {
		return false, nil
	}
	if c.Revisions != nil {
		return errors.Join(c.lacking(), c.checkRevisions(args)) == nil, nil // mistakes are reported with the others
	}
	commands := slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		return protocol.IsURL(arg) || cmd.ArgsLenAtDash() < 0 && !isCommand(arg)
	})
	if len(commands) == 0 || len(commands) == len(args) {
		return len(commands) > 0, nil
	}
	return false, fmt.Errorf("%q is a command, and others are not; compare URLs with URLs, or commands with commands", commands[0])
}

// discoverAll finds out the URL of commands that are compared, and goes on as if it had been typed.
func (a *app) discoverAll(cmd *cobra.Command, c *compareFlags, args []string) ([]string, error) {
	for i := range args {
		args[i] = started(args[i])
	}
	arms := c.arms(args)
	e := &experiment.Experiment{Subjects: map[string]experiment.Subject{}}
	var names []string
	for _, one := range arms {
		e.Subjects[one.name] = experiment.Subject{Command: one.does}
		names = append(names, one.name)
	}
	if err := c.add(arms, e.Subjects); err != nil {
		return nil, usage(err)
	}
	doc := documentOf(arms, "", nil)
	programs, err := a.build(cmd.Context(), c, e, doc)
	defer programs.remove(a)
	if err != nil {
		return nil, err
	}
	choice, err := a.discover(cmd.Context(), names, e.Subjects, c.Port, requestOf(c.spec.given))
	if err != nil {
		return nil, a.unmeasured(cmd.Context(), doc, &c.views, err)
	}
	c.URL = choice.URL
	delete(c.own.given, "port") // which the URL says
	a.settle(cmd, c.spec.given, choice, "--url", choice.URL)
	a.args = slices.Concat(a.args, c.spec.given["script"].Texts, []string{"--"}, args)
	return args, nil
}

// requestOf is how servers are asked by the flags of a target.
func requestOf(given setting.Values) discover.Request {
	text := func(flag string) string { return strings.Join(given[flag].Texts, "") }
	r := discover.Request{Method: text("method"), Data: text("data"), Header: http.Header{}}
	if r.Method == "" && text("data")+text("data-file") != "" {
		r.Method = http.MethodPost
	}
	for _, text := range given["header"].Texts {
		var f wire.Field
		if f.UnmarshalText([]byte(text)) == nil { // a mistake is reported with the others
			r.Header.Add(f.Name, f.Value)
		}
	}
	return r
}

// discover starts each of the programs once, and chooses what all of them are asked for.
func (a *app) discover(ctx context.Context, names []string, subjects map[string]experiment.Subject, port int, r discover.Request) (choice discover.Choice, err error) {
	opener, err := a.newOpener()
	if err != nil {
		return choice, failed(err)
	}
	me, err := self()
	if err != nil {
		return choice, failed(err)
	}
	servers, err := experiment.Discover(ctx, names, subjects, experiment.Options{Self: me, Opener: opener}, r, func(name string, found *discover.Server) {
		fmt.Fprintf(a.Err, "found: %s %v\n", subjects[name].Command, found)
	})
	switch {
	case ctx.Err() != nil:
		return choice, tooEarly()
	case err != nil:
		return choice, failed(err)
	}
	if len(servers) == 1 {
		servers[0].Name = "the server"
	}
	if choice, err = discover.Choose(servers, port); err != nil {
		if _, is := failure.Of(err); is {
			return choice, failed(err)
		}
		return choice, usage(err)
	}
	also := ""
	if choice.Also != "" {
		also = " (" + choice.Also + ")"
	}
	fmt.Fprintf(a.Err, "found: asking for %s%s\n", choice.URL, also)
	return choice, nil
}

// settle puts what was chosen into the target and the command line, which keeps its flags.
func (a *app) settle(cmd *cobra.Command, target setting.Values, choice discover.Choice, own ...string) {
	words := slices.Concat(a.args[:1], own)
	give := func(flag, value string) {
		if _, given := target[flag]; !given {
			target[flag] = setting.Value{Texts: []string{value}}
			words = append(words, strings.TrimSuffix("--"+flag+"="+value, "=true"))
		}
	}
	if choice.HTTP2 && strings.HasPrefix(choice.URL, "http") {
		give("http", "2")
	}
	if choice.Insecure {
		give("insecure", "true")
	}
	a.found, a.args = true, append(words, flagWords(cmd.Flags(), a.args[1:])...)
}

// flagWords are the words of a command line that are flags and their values, except --port, which the URL says.
func flagWords(flags *pflag.FlagSet, words []string) (list []string) {
	for i := 0; i < len(words) && words[i] != "--"; i++ {
		word := words[i]
		if !strings.HasPrefix(word, "-") || len(word) < 2 {
			continue
		}
		name, _, attached := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		flag := flags.Lookup(name)
		if !strings.HasPrefix(word, "--") {
			flag = flags.ShorthandLookup(word[1:2])
			attached = len(word) > 2
		}
		length := 1
		if flag != nil && flag.NoOptDefVal == "" && !attached {
			length = min(2, len(words)-i)
		}
		if flag == nil || flag.Name != "port" {
			list = append(list, words[i:i+length]...)
		}
		i += length - 1
	}
	return list
}

// toStart is the program that an argument of run or sweep names, or the words after -- are; "": the target is another.
func toStart(cmd *cobra.Command, args []string) string {
	switch {
	case cmd.ArgsLenAtDash() == 0 && len(args) > 1:
		var quoted []string
		for _, arg := range args {
			quoted = append(quoted, report.Quoted(arg))
		}
		return strings.Join(quoted, " ")
	case cmd.ArgsLenAtDash() == 0 && !protocol.IsURL(args[0]), isCommand(args[0]) && !protocol.IsScript(args[0]):
		return started(args[0])
	}
	return ""
}

// discoverOne finds out the URL of a program, and goes on as if it and --command had been typed.
func (a *app) discoverOne(cmd *cobra.Command, s *ownServer, f *portChoice, spec *targetFlags, own *options, command string, out destination) error {
	if err := fillFlags(own.given, s, f); err != nil {
		return usage(err)
	}
	if s.Command != "" {
		return usage(errors.New("--command is given, and a command as the target; expected the URL that the first serves, such as http://{{addr}}/"))
	}
	served := experiment.Subject{Command: command, Env: s.Env, Dir: s.Dir, StopTimeout: s.StopTimeout}
	choice, err := a.discover(cmd.Context(), []string{"server"}, map[string]experiment.Subject{"server": served}, f.Port, requestOf(spec.given))
	if err != nil {
		doc := newDocument(cmd.Name())
		doc.Arms = []report.Arm{{Name: "server", Does: command}}
		return a.unmeasured(cmd.Context(), doc, out, err)
	}
	spec.url = choice.URL
	delete(own.given, "port") // which the URL says
	own.given["command"] = setting.Value{Texts: []string{command}}
	a.settle(cmd, spec.given, choice, "--command", command)
	a.args = append(a.args, choice.URL)
	return nil
}
