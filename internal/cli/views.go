package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/term"

	"contend/report"
	"contend/setting"
)

// A destination is where a command's document goes.
type destination interface {
	write(*app, *report.Document) error
	writeFile(*report.Document) error
	whole() bool // something is written even of an empty document
	page() bool  // the answer is, on one page
}

// forms are those of a document that every command which measures has.
type forms struct {
	output
	Brief    bool `flag:"brief" words:"show only the answer, in one line"`
	Markdown bool `flag:"markdown" words:"show every number, as Markdown"`
	formFiles
}

// formFiles are the files that a document is written to in other forms.
type formFiles struct {
	HTML  outputFile `flag:"html" words:"also write a page with charts to this *file*"`
	CSV   outputFile `flag:"csv" words:"also write every number and verdict as a table to this *file*"`
	JUnit outputFile `flag:"junit" words:"also write expectations and verdicts as JUnit test cases to this *file*"`
	HDR   outputFile `flag:"hdr" words:"also write the response times as a HdrHistogram log to this *file*"`
}

// A formFile is one of them; its flag is called as its format.
type formFile struct {
	report.Format
	path outputFile
}

func (f *formFiles) all() []formFile {
	return []formFile{{"html", f.HTML}, {"csv", f.CSV}, {"junit", f.JUnit}, {"hdr", f.HDR}}
}

// formFlags are the names of their flags, after a prefix.
func formFlags(prefix string) []string {
	var names []string
	for _, file := range new(formFiles).all() {
		names = append(names, prefix+string(file.Format))
	}
	return names
}

// writeFile writes the document to the files that are named.
func (f *forms) writeFile(d *report.Document) error {
	err := f.output.writeFile(d)
	for _, file := range f.all() {
		if file.path != "" {
			var b bytes.Buffer
			err = errors.Join(err, file.Write(d, &b), replaceFile(string(file.path), b.Bytes()))
		}
	}
	return err
}

// asked are the flags of the forms that are asked for.
func (f *forms) asked() []string {
	var given []string
	for _, one := range []struct {
		flag  string
		given bool
	}{{"--brief", f.Brief}, {"--markdown", f.Markdown}, {"--json", f.JSON}} {
		if one.given {
			given = append(given, one.flag)
		}
	}
	return given
}

// oneForm refuses more than one form on standard output.
func (f *forms) oneForm() error { return onlyOne(f.asked()) }

func onlyOne(flags []string) error {
	if len(flags) > 1 {
		return fmt.Errorf("use only one of %s", setting.Or(flags))
	}
	return nil
}

// write writes the document in the form that is asked for, else with every figure.
func (f *forms) write(a *app, d *report.Document) error {
	return errors.Join(f.writeFile(d), f.form(a, d, d.Text)(a.Out))
}

// form writes the document in the form that is asked for, or otherwise.
func (f *forms) form(a *app, d *report.Document, otherwise func(io.Writer) error) func(io.Writer) error {
	switch {
	case f.JSON:
		return d.Write
	case f.Markdown:
		return d.Markdown
	case f.Brief:
		return func(w io.Writer) error { return d.Brief(w, lookOf(a.Out, os.Getenv)) }
	}
	return otherwise
}

// views are the forms in which a command that measures shows its document: on one page
// unless it is asked for another.
type views struct {
	forms
	Full bool `flag:"full" words:"show every number and note, instead of one page"`
}

// watched are the views of a command that takes a while.
type watched struct {
	views
	onPage
}

// remembered are the views of a command whose results are kept over time.
type remembered struct {
	watched
	History outputFolder `flag:"history" words:"also add the result to the history in this *folder* (see contend history)"`
}

// onPage has a command be watched while it runs.
type onPage struct {
	UI bool `flag:"ui" words:"show a live page while running, at a local address that is printed; it ends as the page of --html"`
}

// oneForm refuses more than one form on standard output.
func (v *views) oneForm() error {
	asked := v.asked()
	if v.Full {
		asked = append([]string{"--full"}, asked...)
	}
	return onlyOne(asked)
}

func (v *views) write(a *app, d *report.Document) error {
	page := func(w io.Writer) error { return d.Screen(w, lookOf(a.Out, os.Getenv)) }
	if v.Full {
		page = d.Text
	}
	return errors.Join(v.writeFile(d), v.form(a, d, page)(a.Out), a.endLive(d))
}

func (v *views) page() bool { return len(v.asked()) == 0 && !v.Full }

// lookOf decides how to write to w: in colour on a terminal unless NO_COLOR (no-color.org)
// is set or TERM is dumb, no wider than that or than COLUMNS says, in a pipe, too, and in ASCII where the
// locale is not UTF-8, as the first of LC_ALL, LC_CTYPE and LANG that is set says. Windows has no
// such variables, and terminals that show UTF-8.
func lookOf(w io.Writer, getenv func(string) string) report.Look {
	f, ok := w.(*os.File)
	locale := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	utf8 := strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8") || locale == "" && runtime.GOOS == "windows"
	look := report.Look{ASCII: !utf8}
	if ok && term.IsTerminal(int(f.Fd())) {
		look.Colour = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
		look.Width, _, _ = term.GetSize(int(f.Fd())) // 0 where it is not known
	}
	if asked, err := strconv.Atoi(getenv("COLUMNS")); err == nil && asked > 0 {
		look.Width = asked
	}
	return look
}
