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
