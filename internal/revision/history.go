package revision

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"contend/bisect"
)

// History returns the commits that bad contains and good does not, which bad must contain: each
// after its parents, the last is bad. With firstParent only the first parent of merges is followed.
func (r *Repository) History(ctx context.Context, good, bad Revision, firstParent bool) ([]bisect.Commit, error) {
	if _, err := r.git(ctx, r.top, "merge-base", "--is-ancestor", good.Commit, bad.Commit); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%v does not contain %v, so that no commit between them made the difference: "+
			"give a good revision that it contains, such as what git merge-base %s %s prints", bad, good, good.Name, bad.Name)
	}
	args := []string{"log", "--topo-order", "--reverse", "--no-show-signature", "--format=%H%x00%P%x00%s"}
	if firstParent {
		args = append(args, "--first-parent")
	}
	text, err := r.git(ctx, r.top, append(args, good.Commit+".."+bad.Commit)...)
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, fmt.Errorf("%v and %v are the same commit", good, bad)
	}
	var commits []bisect.Commit
	index := map[string]int{}
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\x00", 3)
		c := bisect.Commit{Hash: fields[0], Subject: fields[2]}
		for _, parent := range strings.Fields(fields[1]) {
			if i, within := index[parent]; within {
				c.Parents = append(c.Parents, i)
			}
		}
		slices.Sort(c.Parents)
		index[c.Hash] = len(commits)
		commits = append(commits, c)
	}
	if n := len(commits); n > bisect.MostCommits {
		return nil, fmt.Errorf("%d commits are between %v and %v; expected at most %d: give revisions that are nearer", n, good, bad, bisect.MostCommits)
	}
	return commits, nil
}

// Head is the commit of the checkout. Changed says that files of it are other than committed; those that git does not
// track do not count.
func (r *Repository) Head(ctx context.Context) (Revision, error) {
	v, err := r.Resolve(ctx, "HEAD")
	if err != nil {
		return v, err
	}
	v.Changed, err = r.changed(ctx, "no")
	return v, err
}

// Order has the place of every commit that a branch, a tag or the checkout contains: each is after its parents. shallow
// says that the clone has only the newest.
func (r *Repository) Order(ctx context.Context) (order map[string]int, shallow bool, err error) {
	text, err := r.git(ctx, r.top, "rev-list", "--topo-order", "--reverse", "--all", "HEAD")
	if err != nil {
		return nil, false, err
	}
	order = map[string]int{}
	for commit := range strings.Lines(text) {
		order[strings.TrimSuffix(commit, "\n")] = len(order)
	}
	answer, err := r.git(ctx, r.top, "rev-parse", "--is-shallow-repository")
	return order, strings.TrimSpace(answer) == "true", err
}
