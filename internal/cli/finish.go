package cli

import (
	"context"
	"errors"

	"contend/report"
)

// finish writes the document and turns what happened, and what is in it, into an exit
// code.
func (a *app) finish(ctx context.Context, doc *report.Document, out destination, err error) error {
	doc.Asked = a.asked()
	if r, ok := out.(*remembered); ok && err == nil && ctx.Err() == nil {
		err = a.remember(ctx, r, doc)
	}
	hint := hintOf(ctx, doc)
	if hint != "" {
		doc.SettleBy(report.Step{Purpose: hint})
	}
	if err := a.written(ctx, doc, out, err); err != nil {
		return err
	}
	exit, ok := errors.AsType[*exitError](outcome(doc))
	switch {
	case !ok:
		return nil
	case out.page():
		return &exitError{exit.code, nil} // the page says it
	case exit.code == exitFailed:
		return failed(hinted(exit.err, hint))
	}
	return exit
}

// empty reports whether nothing was measured.
func empty(doc *report.Document) bool {
	return len(doc.Results)+len(doc.Curves)+len(doc.Searches)+len(doc.Counts) == 0 && doc.Calibration == nil
}

// unmeasured writes why nothing could be measured, unless that is a mistake of usage or an
// interrupt.
func (a *app) unmeasured(ctx context.Context, doc *report.Document, out destination, err error) error {
	exit, ok := errors.AsType[*exitError](err)
	if !ok || exit.code != exitFailed {
		return err
	}
	doc.Fail(exit.err)
	return a.written(ctx, doc, out, exit.err)
}

// written writes the document and turns what happened into an exit code. Where an error
// is all that there is, the error alone is shown, unless a page says it.
func (a *app) written(ctx context.Context, doc *report.Document, out destination, err error) error {
	var writeErr error
	if a.found {
		doc.Found = a.typed(a.args)
	}
	doc = a.shown(doc)
	a.summarize(doc)
	said := out.page() && doc.Failed()
	if err != nil && ctx.Err() == nil && !out.whole() && empty(doc) && !said {
		writeErr = out.writeFile(doc)
	} else {
		writeErr = out.write(a, doc)
	}
	return exitOf(ctx, err, writeErr, said)
}

// exitOf is the exit code of a command that failed, was interrupted, or could not write its document; said: the page
// has why it failed.
func exitOf(ctx context.Context, err, writeErr error, said bool) error {
	switch err = errors.Join(err, writeErr); {
	case ctx.Err() != nil && writeErr == nil:
		return interrupted()
	case err != nil && said && writeErr == nil:
		return &exitError{exitFailed, nil}
	case err != nil:
		return failed(err)
	}
	return nil
}
