package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"contend/history"
	"contend/report"
	"contend/setting"
)

func newHistory(a *app) *cobra.Command {
	h := &historyFlags{app: a}
	cmd := &cobra.Command{
		Use:   "history DIR",
		Short: "Show results over commits, relative to a revision measured each time",
		Long: "Show the results that --history DIR of run, compare, sweep, lab, guard and pipe has kept: a metric\n" +
			"over commits, in the order of the git repository here. Ratios are relative to the anchor, a revision\n" +
			"that is built and measured each time, in turns with the other: whatever happens to the machine\n" +
			"happens to both. Values without an anchor are shown as measured and claim no change.\n\n" +
			"The folder has one file for each result, so that git merges it: commit it.",
		Example: indent + "contend history perf\n" +
			indent + "contend history --metric server_cpu_ns_per_op --only kernel=6.8 perf\n" +
			indent + "contend history --html history.html perf\n" +
			indent + "contend history --anchor v1.2.0 perf\n" +
			indent + "contend history --check perf\n" +
			indent + "contend history import perf run.json bench.txt",
		Args: arguments(1, "one folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return h.run(cmd.Context(), args[0])
		},
	}
	h.own = optionsOf(cmd, &h.historyOptions)
	cmd.AddCommand(newHistoryImport(a))
	return cmd
}

type historyOptions struct {
	Metric   string        `flag:"metric" words:"show this *metric* instead of the one that the verdict was asked for"`
	Only     []string      `flag:"only" list:"repeat" words:"show only results with this *FIELD=TEXT*: asked, toolchain, cpu, cores, kernel or placement that contains it; experiment, part or variant that is it; repeatable"`
	Anchor   string        `flag:"anchor" words:"first make this *revision* the one that others are compared with"`
	Format   historyFormat `flag:"format" words:"*format*: text, markdown, html, csv or benchfmt, each with every result; svg, the picture alone"`
	Markdown bool          `flag:"markdown" words:"show every result, as Markdown"`
	Full     bool          `flag:"full" words:"show every result and which other lines there are, instead of one page"`
	Check    bool          `flag:"check" words:"confirm the newest step that was not told yet: build and compare the revisions before and after it again; exit with code 3 if it is confirmed"`
	HTML     outputFile    `flag:"html" words:"also write a page with charts to this *file*"`
}

type historyFormat string

// Values are the names of the formats.
func (historyFormat) Values() []string { return slices.Sorted(maps.Keys(report.HistoryFormats)) }

type historyFlags struct {
	*app
	own *options
	historyOptions
}

func (h *historyFlags) run(ctx context.Context, folder string) error {
	mistakes := h.own.read()
	var asked []string
	for flag, given := range map[string]bool{"--format": h.Format != "", "--markdown": h.Markdown, "--full": h.Full, "--check": h.Check} {
		if given {
			asked = append(asked, flag)
		}
	}
	slices.Sort(asked)
	if err := errors.Join(mistakes, onlyOne(asked), h.checkOnly()); err != nil {
		return usage(err)
	}
	store, err := history.Open(folder)
	if err != nil {
		return failed(err)
	}
	if h.Anchor != "" {
		if err := h.nameAnchor(ctx, store); err != nil {
			return err
		}
	}
	view, err := h.view(ctx, store, folder)
	if err != nil {
		return err
	}
	if h.Check {
		return h.check(ctx, store, view.Lines)
	}
	if err := h.write(view); err != nil {
		return failed(err)
	}
	return nil
}

// nameAnchor makes a revision of the repository here the anchor.
func (h *historyFlags) nameAnchor(ctx context.Context, store *history.Store) error {
	r, err := h.repository(ctx, "")
	if err != nil {
		return failed(err)
	}
	v, err := r.Resolve(ctx, h.Anchor)
	if _, mistaken := errors.AsType[*setting.Mistake](err); mistaken {
		return usage(setting.FlagErrors(setting.At(&h.historyOptions, &h.Anchor).About(err)))
	}
	if err = cmp.Or(err, store.SetAnchor(v.Commit)); err != nil {
		return failed(err)
	}
	fmt.Fprintf(h.Err, "history: %v is the anchor from now on\n", v)
	return nil
}

// view reads the folder.
func (h *historyFlags) view(ctx context.Context, store *history.Store, folder string) (*report.History, error) {
	results, problems, err := store.Read()
	if err != nil {
		return nil, usage(fmt.Errorf("%q cannot be read: %w; expected a folder, as --history of compare or run makes one", folder, setting.Cause(err)))
	}
	results = h.chosen(results)
	view := &report.History{Folder: folder, Problems: problems}
	var order map[string]int
	if r, _ := h.checkout(ctx); r != nil {
		if order, view.Shallow, err = r.Order(ctx); err != nil {
			return nil, failed(err)
		}
		view.InGit = true
	}
	view.Lines = history.Lines(results, store.Anchor(), order)
	if h.Metric != "" {
		var metrics []string
		for _, l := range view.Lines {
			metrics = append(metrics, l.Metric)
		}
		view.Lines = slices.DeleteFunc(view.Lines, func(l history.Line) bool { return l.Metric != h.Metric })
		if slices.Sort(metrics); len(view.Lines) == 0 && len(metrics) > 0 {
			return nil, usage(fmt.Errorf("--metric is %q; expected one that was kept: %s", h.Metric, strings.Join(slices.Compact(metrics), ", ")))
		}
	}
	if len(view.Lines) == 0 {
		for _, p := range problems {
			fmt.Fprintf(h.Err, "contend: %v\n", p)
		}
		return nil, failed(fmt.Errorf("%s has no result to show; add one by --history %s of compare, run or sweep", folder, report.Quoted(folder)))
	}
	return view, nil
}

// ofValues are the fields of --only that are a value's own; the others are the key's.
var ofValues = []string{"experiment", "part", "variant"}

func (h *historyFlags) checkOnly() error {
	fields := slices.Clone(ofValues)
	for _, field := range (history.Key{}).Fields() {
		fields = append(fields, field[0])
	}
	for _, only := range h.Only {
		if field, _, ok := strings.Cut(only, "="); !ok || !slices.Contains(fields, field) {
			return fmt.Errorf("--only is %q; expected FIELD=TEXT with one of %s", only, strings.Join(fields, ", "))
		}
	}
	return nil
}

// chosen are the results, and the values in them, that --only asks for.
func (h *historyFlags) chosen(results []history.Stored) (list []history.Stored) {
	for _, r := range results {
		r.Values = slices.DeleteFunc(slices.Clone(r.Values), func(v history.Value) bool { return !h.shows(r.Key, v) })
		if len(r.Values) > 0 {
			list = append(list, r)
		}
	}
	return list
}

func (h *historyFlags) shows(k history.Key, v history.Value) bool {
	own := map[string]string{"experiment": v.Experiment, "part": v.Part, "variant": v.Variant}
	keys := map[string]string{}
	for _, field := range k.Fields() {
		keys[field[0]] = field[1]
	}
	for _, only := range h.Only {
		name, text, _ := strings.Cut(only, "=")
		if value, ok := own[name]; ok && value != text || !ok && !strings.Contains(keys[name], text) {
			return false
		}
	}
	return true
}

func (h *historyFlags) write(view *report.History) error {
	if h.HTML != "" {
		var b bytes.Buffer
		if err := errors.Join(view.HTML(&b), replaceFile(string(h.HTML), b.Bytes())); err != nil {
			return err
		}
	}
	write := report.HistoryFormats[string(h.Format)]
	switch {
	case h.Markdown:
		write = (*report.History).Markdown
	case h.Full:
		write = (*report.History).Text
	case h.Format == "":
		write = func(v *report.History, w io.Writer) error { return v.Screen(w, lookOf(h.Out, os.Getenv)) }
	}
	return write(view, h.Out)
}

type historyImportOptions struct {
	Commit string `flag:"commit" words:"*revision* that was measured, of files that do not say it"`
}

func newHistoryImport(a *app) *cobra.Command {
	var o historyImportOptions
	var own *options
	cmd := &cobra.Command{
		Use:   "import DIR FILE...",
		Short: "Add result files, and Go benchmarks, to a history",
		Long: "Add results to the history in a folder: result files of contend (-o FILE), and files in the Go\n" +
			"benchmark format, as go test -bench and abtest write them. Adding a file again changes nothing.",
		Example: indent + "contend history import perf run.json\n" + indent + "contend history import --commit v1.2.0 perf bench.txt",
		Args: func(cmd *cobra.Command, args []string) error {
			return arguments(max(2, len(args)), "a folder and files")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := own.read(); err != nil {
				return usage(err)
			}
			return a.importInto(cmd.Context(), args[0], args[1:], &o)
		},
	}
	own = optionsOf(cmd, &o)
	return cmd
}

// importInto adds what files have; one that cannot be read keeps none of the others from that.
func (a *app) importInto(ctx context.Context, folder string, files []string, o *historyImportOptions) error {
	store, err := history.Open(folder)
	if err != nil {
		return failed(err)
	}
	r, _ := a.checkout(ctx)
	commit := o.Commit
	if r != nil && commit != "" {
		v, err := r.Resolve(ctx, commit)
		if err != nil {
			return usage(setting.FlagErrors(setting.At(o, &o.Commit).About(err)))
		}
		commit = v.Commit
	}
	var wrong []error
	for _, path := range files {
		results, err := readResults(path, commit)
		if err == nil && len(results) == 0 {
			err = fmt.Errorf("%s has no result to keep", path)
		}
		names, added := a.addTo(ctx, store, r, results)
		if err = errors.Join(err, added); err != nil {
			wrong = append(wrong, err)
			continue
		}
		fmt.Fprintf(a.Out, "%s: %d\n", path, len(names))
	}
	if len(wrong) > 0 {
		return failed(errors.Join(wrong...))
	}
	return nil
}

// readResults reads a result file, or one of Go benchmarks. commit is what was measured, where the file does not say it.
func readResults(path, commit string) ([]history.Result, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%q cannot be read: %w; expected a result file or Go benchmarks", path, setting.Cause(err))
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		doc, err := report.Read(bytes.NewReader(data))
		if doc == nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return doc.ForHistory(commit, false), nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	results, err := report.ReadBenchmarks(bytes.NewReader(data), info.ModTime())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := range results {
		results[i].Commit = cmp.Or(results[i].Commit, commit)
	}
	return results, nil
}
