package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"contend/internal/secret"
	"contend/load"
	"contend/protocol/http"
	"contend/report"
	"contend/report/abform"
	"contend/trial"
)

func newAB(a *app) *cobra.Command {
	var f abFlags
	cmd := &cobra.Command{
		Use:   "ab [http[s]://]HOST[:PORT]/PATH",
		Short: "Load a web server with the flags and the report of Apache Bench",
		Long: "Load a web server with the flags of Apache Bench (ab) 2.3 and print its report, for scripts that\n" +
			"call ab or read its output. Numbers that ab gets wrong are correct here: tables show thousandths of\n" +
			"a millisecond, and every wrong or missing response is a failed request. --strict-ab prints and\n" +
			"counts as ab does.\n\n" +
			"Exit codes:\n" +
			"  0    success\n" +
			"  1    nothing succeeded, or stopped after failures\n" +
			"  2    invalid command line\n" +
			"  130  interrupted",
		Example: indent + "contend ab -n 1000 -c 10 -k http://localhost:8080/status\n" +
			indent + "contend ab -t 10 -c 50 -k -g times.tsv -e percentages.csv http://localhost:8080/status",
		Args:                  cobra.ArbitraryArgs, // judged with the flags
		DisableFlagsInUseLine: true,
		ValidArgsFunction:     cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.read()
			f.learn(a.secrets)
			if f.Version {
				_, err := io.WriteString(a.Out, abBanner(f.HTML))
				return err
			}
			job, err := f.job(args)
			if err != nil {
				return usage(err)
			}
			return a.ab(cmd.Context(), job)
		},
	}
	f.register(cmd)
	return cmd
}

// abBanner is as long as ab's own.
func abBanner(html bool) string {
	lines := [3]string{
		"This is contend " + version() + " in the form of ApacheBench, Version 2.3",
		"The form is by Adam Twiss, Zeus Technology Ltd, http://www.zeustech.net/",
		"and The Apache Software Foundation, http://www.apache.org/",
	}
	if html {
		return fmt.Sprintf("<p>\n %s<br>\n %s<br>\n %s<br>\n</p>\n<p>\n", lines[0], lines[1], lines[2])
	}
	return fmt.Sprintf("%s\n%s\n%s\n\n", lines[0], lines[1], lines[2])
}

// An abJob is what the flags ask for.
type abJob struct {
	url      string
	config   http.Config
	plan     load.Plan
	form     abform.Form // without its figures
	markup   abform.Markup
	out      output
	html     bool
	quiet    bool // -q
	patient  bool // -r: errors end nothing
	gnuplot  string
	csv      string
	through  string // the proxy
	warnings []string
}

// ab runs the job.
func (a *app) ab(ctx context.Context, job *abJob) error {
	if _, err := a.newOpener(); err != nil { // for what it does to this process
		return failed(err)
	}
	target, err := http.New(job.config)
	if err != nil {
		return usage(err)
	}
	if !job.patient {
		if err := reach(ctx, job.url, target, job.plan.Timeout); err != nil {
			return err
		}
	}
	for _, text := range job.warnings {
		fmt.Fprintln(a.Err, "contend: warning: "+text)
	}
	every := job.heartbeat()
	job.greet(a.Out, every > 0)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	tally := newABTally(job, target, stop)
	tally.every, tally.log = every, a.Err
	job.plan.Sample = tally.add
	job.plan.AtEdge = tally.edge
	doc := newDocument("ab")
	result, err := load.Run(ctx, job.url, target, job.plan)
	if err != nil {
		return failed(err)
	}
	doc.AddRun(result)
	if err := a.abReport(job, tally, doc); err != nil {
		return failed(err)
	}
	var gaveUp *abGaveUp
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &gaveUp):
		return failed(gaveUp)
	case result.Stopped == load.Interrupted:
		return interrupted()
	case result.Completed == 0 || result.Stopped == load.StoppedByOutage:
		return failed(nothing(trial.Cell{Result: result}))
	}
	return nil
}

// heartbeat is how many requests lie between two lines of progress: a tenth, at
// least 100. Zero means that there are none.
func (job *abJob) heartbeat() int64 {
	if n := job.plan.Iterations; !job.quiet && n > 150 {
		return max(100, n/10)
	}
	return 0
}

// greet writes what ab writes before it begins.
func (job *abJob) greet(w io.Writer, progress bool) {
	if job.out.JSON {
		return
	}
	io.WriteString(w, abBanner(job.html))
	if job.html {
		return
	}
	through, end := "", "..."
	if job.through != "" {
		through = "[through " + job.through + "] "
	}
	if progress {
		end = "\n"
	}
	fmt.Fprintf(w, "Benchmarking %s %s(be patient)%s", job.form.Host, through, end)
}

// abReport writes the files, the report and the warnings, in that order.
func (a *app) abReport(job *abJob, tally *abTally, doc *report.Document) error {
	form := secret.In(tally.form(doc.Results[0].Result), a.secrets.Hide)
	err := job.files(form, tally)
	if job.out.JSON {
		return errors.Join(err, job.out.write(a, a.shown(doc)))
	}
	if job.out.File != "" {
		err = errors.Join(err, writeFile(string(job.out.File), a.shown(doc)))
	}
	if tally.every > 0 {
		fmt.Fprintf(a.Err, "Finished %d requests\n", tally.done)
	} else if form.Result.Stopped != load.Interrupted {
		io.WriteString(a.Out, "..done\n")
	}
	view := form.Text
	if job.html {
		view = func(w io.Writer) error { return form.HTML(w, job.markup) }
	}
	err = errors.Join(err, view(a.Out))
	if form.Result.Completed > 0 { // otherwise the error says it all
		for _, warning := range form.Result.Remarks() {
			fmt.Fprintln(a.Err, "contend: warning: "+warning.Text)
		}
	}
	return err
}

// files writes what -g and -e ask for.
func (job *abJob) files(form *abform.Form, tally *abTally) error {
	var errs []error
	for _, file := range []struct {
		path  string
		write func(io.Writer) error
	}{
		{job.csv, form.CSV},
		{job.gnuplot, func(w io.Writer) error { return form.Gnuplot(w, tally.began) }},
	} {
		if file.path == "" {
			continue
		}
		var b bytes.Buffer
		errs = append(errs, file.write(&b), os.WriteFile(file.path, b.Bytes(), 0o644))
	}
	return errors.Join(errs...)
}
