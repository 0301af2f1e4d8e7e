package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"contend/report"
)

// summaryVariable names the file whose Markdown GitHub shows on the page of a job
// (docs.github.com, "Adding a job summary").
const summaryVariable = "GITHUB_STEP_SUMMARY"

// summarize adds the document to the summary of the job, where there is one. Measured is
// measured: what goes wrong here is only said.
func (a *app) summarize(d *report.Document) {
	path := os.Getenv(summaryVariable)
	if path == "" {
		return
	}
	var b bytes.Buffer
	err := d.Markdown(&b)
	if err == nil {
		err = appendTo(path, b.Bytes())
	}
	if err != nil {
		fmt.Fprintf(a.Err, "contend: %s: %v\n", summaryVariable, err)
	}
}

func appendTo(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
