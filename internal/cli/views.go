package cli

import (
	"cmp"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/term"

	"contend/report"
)

// A destination is where a command's document goes.
type destination interface {
	write(*app, *report.Document) error
	writeFile(*report.Document) error
	whole() bool // something is written even of an empty document
	page() bool  // the answer is, on one page
}

// views are the forms in which a command that measures shows its document: on one page
// unless it is asked for another.
type views struct {
	output
	Full     bool `flag:"full" words:"show every figure and note, in place of one page"`
	Brief    bool `flag:"brief" words:"show the answer alone, in one line"`
	Markdown bool `flag:"markdown" words:"show every figure as Markdown"`
}

// oneForm refuses more than one form on standard output.
func (v *views) oneForm() error {
	var given []string
	for _, f := range []struct {
		flag  string
		given bool
	}{{"--full", v.Full}, {"--brief", v.Brief}, {"--markdown", v.Markdown}, {"--json", v.JSON}} {
		if f.given {
			given = append(given, f.flag)
		}
	}
	if len(given) > 1 {
		return errors.New(strings.Join(given, " and ") + " exclude each other")
	}
	return nil
}

func (v *views) write(a *app, d *report.Document) error {
	look := lookOf(a.Out, os.Getenv)
	show := func(w io.Writer) error { return d.Screen(w, look) }
	switch {
	case v.JSON:
		show = d.Write
	case v.Full:
		show = d.Text
	case v.Markdown:
		show = d.Markdown
	case v.Brief:
		show = func(w io.Writer) error { return d.Brief(w, look) }
	}
	return errors.Join(v.writeFile(d), show(a.Out))
}

func (v *views) page() bool { return !v.JSON && !v.Full && !v.Markdown && !v.Brief }

// lookOf decides how to write to w: in colour on a terminal unless NO_COLOR (no-color.org)
// is set or TERM is dumb, no wider than that, and in ASCII where the locale is not UTF-8, as the first of LC_ALL, LC_CTYPE and
// LANG that is set says. Windows has no such variables, and terminals that show UTF-8.
func lookOf(w io.Writer, getenv func(string) string) report.Look {
	f, ok := w.(*os.File)
	locale := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	utf8 := strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8") || locale == "" && runtime.GOOS == "windows"
	look := report.Look{ASCII: !utf8}
	if ok && term.IsTerminal(int(f.Fd())) {
		look.Colour = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
		look.Width, _, _ = term.GetSize(int(f.Fd())) // 0 where it is not known
	}
	return look
}
