package cli

import (
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"contend/finding"
	"contend/internal/lazyregexp"
	"contend/internal/testenv"
	"contend/protocol"
	"contend/report"
)

// measuring are the commands whose pages advise.
var measuring = []string{"run", "sweep", "compare", "lab", "guard", "pipe", "calibrate"}

// advised finds what advice names: a command of contend, and flags, which are those of the command
// that was named last.
var advised = lazyregexp.New(`\bcontend ([a-z]+)|(?:^|[\s('])(--[a-z][a-z-]*|-[a-zA-Z]\b)`)

// unknownIn returns what a text advises that does not exist, if the command gives it.
func unknownIn(text, command string) (unknown []string) {
	for line := range strings.Lines(text) {
		own := command
		for _, m := range advised().FindAllStringSubmatchIndex(line, -1) {
			switch {
			case m[2] >= 0 && commands[line[m[2]:m[3]]] != nil:
				own = line[m[2]:m[3]]
			case m[4] < 0:
			case ofCommand().MatchString(line[m[5]:]): // --grace of contend run
				if of := ofCommand().FindStringSubmatch(line[m[5]:])[1]; !hasFlag(of, line[m[4]:m[5]]) {
					unknown = append(unknown, of+" "+line[m[4]:m[5]])
				}
			case !hasFlag(own, line[m[4]:m[5]]):
				unknown = append(unknown, own+" "+line[m[4]:m[5]])
			}
		}
	}
	return unknown
}

var (
	ofCommand = lazyregexp.New("^`? of `?contend ([a-z]+)")
	withCurl  = lazyregexp.New(`\(curl [^)]*\)`)
)

// The advice of each code on the page of a command names flags that the command has.
func TestAdviceOfCodes(t *testing.T) {
	for _, command := range measuring {
		doc := &report.Document{Command: command, Has: func(flag string) bool { return hasFlag(command, flag) }}
		for _, kind := range finding.Kinds() {
			text := doc.Advice(kind.Code)
			if unknown := unknownIn(withCurl().ReplaceAllString(text, ""), command); unknown != nil {
				t.Errorf("%s, %s: %q names %q", command, kind.Code, text, unknown)
			}
			if text == "" && finding.Advice(kind.Code) != "" {
				t.Errorf("%s, %s: nothing is left of the advice", command, kind.Code)
			}
		}
	}
}

// The advice about a server that cannot be reached works with each command that has a target,
// and a URL in it is one.
func TestAdviceOfHints(t *testing.T) {
	for _, h := range hints {
		for _, target := range []string{"http://h:1/x?y=1", "https://h:1/", "ws://h/", "wss://h/", "grpc://h:1/a.B/C", "grpcs://h:1/a.B/C"} {
			u, err := url.Parse(target)
			if err != nil {
				t.Fatal(err)
			}
			at := trouble{url: u, address: u.Host}
			text := h.say(at)
			if at.secure() && strings.Contains(text, "server speaks TLS on this port") || !at.secure() && strings.Contains(text, "does not speak TLS") {
				continue // it is not said of such a URL
			}
			for _, command := range []string{"run", "sweep", "compare"} {
				if unknown := unknownIn(text, command); unknown != nil {
					t.Errorf("%s: %q names %q", command, text, unknown)
				}
			}
			for _, other := range advisedURL().FindAllString(text, -1) {
				if err := protocol.At(strings.TrimRight(other, ",")).Validate(); err != nil {
					t.Errorf("%s: %q: %v", target, text, err)
				}
			}
		}
	}
}

var advisedURL = lazyregexp.New(`\b[a-z]+://\S+`)

// Advice about flags of other tools names flags that exist in at least one command; has looks in
// the typed one.
func TestAdviceForOtherTools(t *testing.T) {
	texts := map[string]string{}
	for flag, meanings := range elsewhere {
		for _, m := range meanings {
			texts[flag+" of "+m.tools] = m.ours
		}
	}
	for flag, text := range misplaced {
		texts[flag] = text
	}
	for what, text := range texts {
		somewhere := func(command string) bool { return unknownIn(text, command) == nil }
		if !slices.ContainsFunc(measuring, somewhere) {
			t.Errorf("%s: no command has all of %q", what, text)
		}
	}
}

// A command that cannot be started is followed by advice that can be taken, and by command lines
// that can be typed.
func TestAdviceOfFailures(t *testing.T) {
	t.Chdir(t.TempDir())
	testenv.Write(t, "notes.txt", "")
	var all sync.WaitGroup // each looks at the machine for a moment
	defer all.Wait()
	for _, server := range []string{"FOO=1 ./server {{addr}}", "./nosuch {{addr}}", "nosuch {{addr}}", "~/server {{addr}}", "$HOME/server {{addr}}", "./notes.txt {{addr}}", "false {{addr}}", "sh -c 'exit 0' {{addr}}"} {
		for command, args := range map[string][]string{
			"run":     {"run", "-n", "1", "--command", server, "http://{{addr}}/"},
			"sweep":   {"sweep", "--levels", "1", "--command", server, "http://{{addr}}/"},
			"compare": {"compare", "--rounds", "1", "--url", "http://{{addr}}/", "--", server, server},
			"guard":   {"guard", "--inside", "http://{{addr}}/", "--command", server},
		} {
			all.Go(func() { advises(t, command, server, args) })
		}
	}
}

// advises fails the test unless a command whose server cannot be started ends with such advice.
func advises(t *testing.T, command, server string, args []string) {
	var out, errs strings.Builder
	code := Main(t.Context(), args, Streams{&out, &errs})
	_, next, found := strings.Cut(out.String(), "\nNext: ")
	if code == exitDone || !found && code == exitFailed && errs.Len() == 0 {
		t.Errorf("%q: exit code %d: %s%s", args, code, &out, &errs)
	}
	next = strings.Join(strings.Fields(next), " ")
	if unknown := unknownIn(strings.ReplaceAll(next, server, ""), command); unknown != nil {
		t.Errorf("%q: %q names %q", args, next, unknown)
	}
	if _, pasted, is := strings.Cut(next, " contend "); is && strings.Contains(out.String(), "\n  contend ") {
		if err := parses("contend " + pasted); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// The answers to mistakes name flags of the command that was typed, or what was typed.
func TestAdviceOfMistakes(t *testing.T) {
	text := testenv.Read(t, mistakes)
	for block := range strings.SplitSeq(string(text), "\n\n") {
		typed, answer, _ := strings.Cut(strings.TrimSpace(block), "\n")
		command := strings.Fields(typed + " - -")[2]
		for _, unknown := range unknownIn(answer, command) {
			if _, flag, _ := strings.Cut(unknown, " "); !strings.Contains(typed, flag) && commands[command] != nil {
				t.Errorf("%s\n%s\nnames %q", typed, answer, unknown)
			}
		}
	}
}
