package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"contend/history"
	"contend/internal/revision"
	"contend/report"
)

// ofViews are flags without values that say how a result is shown, or what is found out about it later.
var ofViews = []string{"--full", "--brief", "--markdown", "--json", "--ui", "--show-secrets", "--why"}

// ofOthers are flags with values that make results neither those of another question nor others.
var ofOthers = []string{"--history", "--revisions", "--iterations", "-n", "--seed", "--own", "--pprof", "--otlp", "--prometheus"}

// asked is the command line without names of revisions, lengths and outputs: what was asked for alike is of one line of
// a history.
func (a *app) asked() string {
	end := slices.Index(a.args, "--")
	if end < 0 {
		end = len(a.args)
	}
	own := slices.DeleteFunc(slices.Clone(a.args[:end]), func(word string) bool { return slices.Contains(ofViews, word) })
	return a.typed(withoutFlags(slices.Concat(own, a.args[end:]), slices.Concat(ofLength, ofFiles, ofOthers)))
}

// remember adds what a history keeps of a document to that in the folder, if one is named. The first revision that
// others are compared with becomes the anchor.
func (a *app) remember(ctx context.Context, to *remembered, doc *report.Document) error {
	if to.History == "" || doc.Failed() {
		return nil
	}
	folder := string(to.History)
	store, err := history.Open(folder)
	if err != nil {
		return err
	}
	r, commit := a.checkout(ctx)
	results := a.shown(doc).ForHistory(commit.Commit, commit.Changed)
	if len(results) == 0 {
		return fmt.Errorf("--history %s: there is no result to keep", folder)
	}
	if _, err := a.addTo(ctx, store, r, results); err != nil {
		return fmt.Errorf("--history %s: %w", folder, err)
	}
	if anchor := results[0].Anchor; store.Anchor() == "" && anchor != "" {
		if err := store.SetAnchor(anchor); err != nil {
			return err
		}
		fmt.Fprintf(a.Err, "history: %.12s is the anchor of %s from now on\n", anchor, folder)
	}
	fmt.Fprintf(a.Err, "history: kept in %s; contend history %s shows it\n", folder, report.Quoted(folder))
	return nil
}

// checkout is the repository of the current folder and its commit; nil without git.
func (a *app) checkout(ctx context.Context) (*revision.Repository, revision.Revision) {
	r, err := a.repository(ctx, "")
	if err != nil {
		return nil, revision.Revision{}
	}
	head, err := r.Head(ctx)
	if err != nil { // such as one without a commit
		return nil, revision.Revision{}
	}
	return r, head
}

// addTo adds results, with what git knows of their commits.
func (a *app) addTo(ctx context.Context, store *history.Store, r *revision.Repository, results []history.Result) (names []string, err error) {
	for i := range results {
		one := &results[i]
		if r == nil || one.Commit == "" {
			continue
		}
		if v, err := r.Resolve(ctx, one.Commit); err == nil { // else another repository's
			one.About(v.Committed, a.secrets.Hide(v.Subject))
		}
	}
	return store.Add(results...)
}

// anchored has revisions that nobody named be the anchor of the history and HEAD.
func (c *compareFlags) anchored() error {
	if c.History == "" || c.Build == "" || c.Revisions != nil {
		return nil
	}
	store, err := history.Open(string(c.History))
	if err != nil {
		return err
	}
	if store.Anchor() == "" {
		return errors.New("--history " + string(c.History) + " names no anchor yet; name it once by --revisions ANCHOR,HEAD")
	}
	c.Revisions = []string{store.Anchor()[:min(12, len(store.Anchor()))], "HEAD"}
	return nil
}
