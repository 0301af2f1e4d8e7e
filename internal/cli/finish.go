package cli

import (
	"context"
	"errors"
	"slices"

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
	switch {
	case !ok || exit.code != exitFailed:
		return err
	case ctx.Err() != nil: // that is why it failed
		return tooEarly()
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
	return exitOf(ctx, doc, err, writeErr, said)
}

// measured reports whether a document has something that was measured, if only a part.
func measured(d *report.Document) bool {
	return d.Calibration != nil ||
		slices.ContainsFunc(d.Results, func(r report.Result) bool { return r.Planned > 0 || r.OnlyCounted() }) ||
		slices.ContainsFunc(d.Trials, func(t report.Trials) bool { return len(t.Blocks)+len(t.Rounds) > 0 }) ||
		slices.ContainsFunc(d.Curves, func(c report.Curve) bool { return len(c.Visits)+len(c.Explored) > 0 }) ||
		slices.ContainsFunc(d.Searches, func(s report.Search) bool { return s.Alone != nil || len(s.Attempts) > 0 }) ||
		slices.ContainsFunc(d.Counts, func(c report.Counts) bool { return len(c.Runs) > 0 })
}

// exitOf is the exit code of a command that failed, was interrupted, or could not write its document; said: the page
// has why it failed.
func exitOf(ctx context.Context, doc *report.Document, err, writeErr error, said bool) error {
	switch err = errors.Join(err, writeErr); {
	case ctx.Err() != nil && writeErr == nil && measured(doc):
		return interrupted()
	case ctx.Err() != nil && writeErr == nil:
		return tooEarly()
	case err != nil && said && writeErr == nil:
		return &exitError{exitFailed, nil}
	case err != nil:
		return failed(err)
	}
	return nil
}
