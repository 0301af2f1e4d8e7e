package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"contend/metric"
	"contend/report"
	"contend/setting"
	"contend/trial"
)

// storedFlags are the flags of compare that mean something for stored documents.
var storedFlags = append([]string{"metric", "margin", "answers-may-differ", "json", "output", "full", "brief", "markdown", "show-secrets"}, formFlags("")...)

// needsURL says of commands that are given as targets what is missing.
func (c *compareFlags) needsURL(args []string) error {
	if c.URL != "" || c.Revisions != nil {
		return nil
	}
	for _, arg := range args {
		if isCommand(arg) {
			return fmt.Errorf("%q is a command; commands require --url, the URL that they serve, as in --url http://{{addr}}/ or --url http://localhost:8080/", arg)
		}
	}
	return nil
}

// areFiles reports whether both arguments are files; one alone is a mistake.
func areFiles(args []string) (bool, error) {
	var files, others []string
	for _, arg := range args {
		if info, err := os.Stat(arg); err == nil && info.Mode().IsRegular() {
			files = append(files, arg)
		} else {
			others = append(others, arg)
		}
	}
	if len(files) == 1 {
		return false, fmt.Errorf("%s is a file but %s is not; compare two stored documents or two targets", files[0], others[0])
	}
	return len(files) == 2, nil
}

// compareStored compares two stored documents, unless there is a mistake.
func (a *app) compareStored(cmd *cobra.Command, c *compareFlags, args []string, mistake error) error {
	var d trial.Design
	err := setting.Fill(&d, c.given, setting.InFlags)
	how := trial.Apart{Metrics: d.Metrics, Margin: d.Margin, Confidence: d.Confidence, AnswersMayDiffer: d.AnswersMayDiffer}
	if err := errors.Join(mistake, onlyStored(cmd), setting.FlagErrors(errors.Join(err, how.Check()))); err != nil {
		return usage(err)
	}
	doc := newDocument("compare")
	var stored [2]report.Stored
	for i, path := range args {
		read, notes, err := readStored(path)
		if err != nil {
			return failed(err)
		}
		doc.Notes = append(doc.Notes, notes...)
		stored[i] = report.Stored{Name: filepath.Base(path), Document: read}
	}
	if _, given := c.given["metric"]; !given && slices.ContainsFunc(stored[:], func(s report.Stored) bool { return s.Command == report.PublishedCommand }) {
		how.Metrics = []metric.Name{metric.Throughput, "response_mean_ns", "service_mean_ns"} // such a document has no others
	}
	if err := doc.AddStored(stored[0], stored[1], how); err != nil {
		return usage(err)
	}
	return a.finish(cmd.Context(), doc, &c.views, nil)
}

// onlyStored refuses flags about measuring.
func onlyStored(cmd *cobra.Command) error {
	given := cmd.Flags().NFlag()
	for _, name := range storedFlags {
		if cmd.Flags().Changed(name) {
			given--
		}
	}
	if given == 0 {
		return nil
	}
	return fmt.Errorf("stored documents are read, not measured; expected no other flags than --%s", strings.Join(storedFlags, ", --"))
}

// readStored reads a document, and notes when it does not agree with itself.
func readStored(path string) (doc *report.Document, notes []string, err error) {
	f, err := openDocument(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	doc, err = report.Read(f)
	if doc == nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		notes = []string{fmt.Sprintf("%s contradicts itself; the recomputed values are compared (%s).", path, first)}
	}
	return doc, notes, nil
}
