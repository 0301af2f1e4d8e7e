package cli

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"contend/experiment"
	"contend/internal/lazyregexp"
	"contend/internal/testenv"
	"contend/setting"
)

// offLine is a commented-out line of an experiment file.
var offLine = lazyregexp.New(`(?m)^( *)#(\S)`)

// With every line uncommented the file is still valid: no line shows what is not allowed.
func TestInitLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "all.yaml")
	for _, args := range [][]string{
		{"http://localhost:1/", "http://localhost:2/", "http://localhost:3/"},
		{"--url", "http://{{addr}}/", "a {{addr}}", "b {{addr}}"},
	} {
		os.Remove(path)
		var out, errs strings.Builder
		if code := Main(t.Context(), append([]string{"init", "-o", path}, args...), Streams{&out, &errs}); code != exitDone {
			t.Fatalf("%q: exit code %d: %s", args, code, &errs)
		}
		text := testenv.Read(t, path)
		if found := offLine().FindAllString(string(text), -1); len(found) < 15 {
			t.Errorf("%d lines are commented out", len(found))
		}
		f, err := experiment.Parse("all.yaml", offLine().ReplaceAll(text, []byte("$1$2")))
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		if d := f.Experiment("").Parts[0].Design; d.Rounds != 20 || d.Margin == nil || *d.Margin != 0.02 {
			t.Errorf("%q: the lines are not read: %+v", args, d)
		}
	}
}

// offMarked is a commented-out line that states what its value is.
var offMarked = lazyregexp.New(`(?m)^ *#(?:(\w+): (.*)|- .*) # (default|example)$`)

// A commented-out line states whether it shows the default, as the tags have it, or an example.
func TestInitSaysWhatIsDefault(t *testing.T) {
	path := filepath.Join(t.TempDir(), "all.yaml")
	var out, errs strings.Builder
	if code := Main(t.Context(), []string{"init", "-o", path, "--url", "http://{{addr}}/", "a {{addr}}", "b {{addr}}"}, Streams{&out, &errs}); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	text := testenv.Read(t, path)
	settings := map[string]setting.Setting{}
	for _, s := range comparing() {
		settings[s.Path[strings.LastIndexByte(s.Path, '.')+1:]] = s
	}
	marked := offMarked().FindAllStringSubmatch(string(text), -1)
	if off := offLine().FindAllString(string(text), -1); len(marked) != len(off) {
		t.Errorf("%d of %d commented-out lines state what their value is", len(marked), len(off))
	}
	count := map[string]int{}
	for _, m := range marked {
		name, value, is := m[1], m[2], m[3]
		count[is]++
		byDefault := settings[name].Default
		if isDefault := byDefault != ""; isDefault != (is == theDefault) {
			t.Errorf("%s has the default %q and is marked: %s", name, byDefault, m[0])
		} else if isDefault && strings.ReplaceAll(strings.Trim(value, "[]"), " ", "") != byDefault {
			t.Errorf("%s has the default %q, and the file says %s", name, byDefault, value)
		}
	}
	if count[theDefault] < 5 || count[anExample] < 5 {
		t.Errorf("found %v", count)
	}
}

// A text survives YAML unchanged.
func TestYAMLText(t *testing.T) {
	for _, text := range []string{"null", "NULL", "~", "true", "10", "a: b", "# x", "{{addr}}", `"`, `\r\n`, "a\nb\tc", "ä ✓", "", " a ", "'", "-", "[a]", "1_0"} {
		file := "id: x\ntitle: " + yamlText(text) + "\nstatus: planned\n"
		if f, err := experiment.Parse("x", []byte(file)); text != "" && (err != nil || f.Title != text) {
			t.Errorf("%q as %s: %v", text, yamlText(text), err)
		}
	}
}

func TestIDOf(t *testing.T) {
	for path, want := range map[string]string{
		"contend.yaml": "contend", "a/My Orders.v2.yaml": "my-orders-v2", "-.yaml": "experiment", "é.yaml": "experiment",
	} {
		if got := idOf(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestAsk(t *testing.T) {
	for _, tt := range []struct {
		input, url string
		want       []string
		wantURL    string
	}{
		{"a\nb\n\n5\n", "", []string{"a", "b"}, "http://{{addr}}/"},
		{"\n a \n\nb\nhttp://{{addr}}/x\n1,10", "", []string{"a", "b"}, "http://{{addr}}/x"},
		{"a\nb\n5\n", "http://{{addr}}/y", []string{"a", "b"}, "http://{{addr}}/y"},
		{"http://a/\nhttp://b/\n5\n", "", []string{"http://a/", "http://b/"}, ""},
	} {
		var n initFlags
		n.URL, n.given = tt.url, setting.Values{}
		args, err := n.ask(newAsking(t.Context(), strings.NewReader(tt.input), io.Discard))
		if err != nil || !slices.Equal(args, tt.want) || n.URL != tt.wantURL {
			t.Errorf("%q: %q at %q, %v", tt.input, args, n.URL, err)
		}
	}
}

// The end of the input, and Ctrl-C, end the questions.
func TestAskEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	silent, never := io.Pipe()
	defer never.Close()
	for name, q := range map[string]asking{
		"end":    newAsking(t.Context(), strings.NewReader("a\n"), io.Discard),
		"Ctrl-C": newAsking(ctx, silent, io.Discard),
	} {
		var n initFlags
		_, err := n.ask(q)
		if exit, ok := errors.AsType[*exitError](err); !ok || exit.code != exitInterrupted {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A script is one word before --, followed by two servers: all else is a command,
// though it ends like one. What init writes is what compare drives.
func TestCommandsThatEndLikeScripts(t *testing.T) {
	const url = "http://{{addr}}/"
	for _, c := range []struct {
		args     []string
		script   string // "": none
		commands []string
	}{
		{[]string{"--url", url, "--", "node a.js", "node b.js"}, "", []string{"node a.js", "node b.js"}},
		{[]string{"--url", url, "node a.js", "node b.js"}, "", []string{"node a.js", "node b.js"}},
		{[]string{"--url", url, "--", "./a.js", "./b.js", "./c.ts"}, "", []string{"./a.js", "./b.js", "./c.ts"}},
		{[]string{"--url", url, "./a.js", "./b.js"}, "", []string{"./a.js", "./b.js"}},
		{[]string{"--url", url, "deno run x.ts", "'./my server.js'", "c"}, "", []string{"deno run x.ts", "'./my server.js'", "c"}},
		{[]string{"--url", url, "flow.js", "--", "node a.js", "node b.js"}, "flow.js", []string{"node a.js", "node b.js"}},
		{[]string{"flow.js", "--url", url, "./a", "./b"}, "flow.js", []string{"./a", "./b"}},
		{[]string{"--url", url, "--script", "flow.js", "--", "node a.js", "node b.js"}, "flow.js", []string{"node a.js", "node b.js"}},
		{[]string{"flow.ts", "http://h:1/", "http://h:2/"}, "flow.ts", nil},
	} {
		path := filepath.Join(t.TempDir(), "x.yaml")
		var out, errs strings.Builder
		if code := Main(t.Context(), append([]string{"init", "-o", path}, c.args...), Streams{&out, &errs}); code != exitDone {
			t.Errorf("%q: exit code %d: %s", c.args, code, &errs)
			continue
		}
		text := testenv.Read(t, path)
		f, err := experiment.Parse(path, text)
		if err != nil {
			t.Fatal(err)
		}
		e := f.Experiment("")
		var commands []string
		for _, name := range slices.Sorted(maps.Keys(e.Parts[0].Arms)) {
			if s, ok := e.Subjects[e.Parts[0].Arms[name].Subject]; ok {
				commands = append(commands, s.Command)
			}
		}
		if script := e.Parts[0].Arms["A"].Target.Get("script"); script != c.script || !slices.Equal(commands, c.commands) {
			t.Errorf("%q: script %q, commands %q; want %q, %q", c.args, script, commands, c.script, c.commands)
		}
	}
}
