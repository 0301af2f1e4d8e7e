package why

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Renamed finds the program's own functions of the second arm, the candidate, that took the place of one of the first, with
// own calls (OwnCallsOf) of both: one without a name of its own whose line an edit above it moved; the only new one of its
// name, in another file, where the only one of that name is gone; or the only new one under a caller, where it is the only one
// that is gone, if they call something in common or one of them calls nothing. It returns the baseline's names by the
// candidate's, and in the same way that of the program's file or package, if one alone is gone and one is new.
func Renamed(profiles []Profile, arms [2]string, own []Call, baseline, candidate int) map[string]string {
	t, isOwn := newTree(own, baseline, candidate), map[string]bool{}
	for _, p := range profiles {
		for _, f := range p.Functions {
			isOwn[f.Name] = isOwn[f.Name] || f.Of == Own
		}
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(t.at)), func(name string) bool { return !isOwn[name] })
	renamed, doubtful := t.shifted(names), map[string]bool{}
	former := slices.Collect(maps.Values(renamed))
	names = slices.DeleteFunc(names, func(name string) bool {
		before, after := t.sum(name, 0), t.sum(name, 1)
		return max(before, after) < ownShare*max(t.ns(0, 0), t.ns(0, 1)) || min(before, after) > 0 || renamed[name] != "" || slices.Contains(former, name)
	})
	var rest []string
	for _, c := range t.changes(names, func(name string) []string { return []string{withoutFile(name)} }) {
		if len(c.gone) == 1 && len(c.fresh) == 1 {
			renamed[c.fresh[0]] = c.gone[0]
		} else {
			rest = slices.Concat(rest, c.gone, c.fresh)
		}
	}
	for _, c := range t.changes(rest, func(name string) []string { return slices.Collect(maps.Keys(t.callers(name))) }) {
		if len(c.gone) != 1 || len(c.fresh) != 1 {
			for _, name := range c.fresh {
				doubtful[name] = true
			}
			continue
		}
		gone, fresh := c.gone[0], c.fresh[0]
		its, calls := t.callees(gone), t.callees(fresh)
		common := slices.ContainsFunc(slices.Collect(maps.Keys(its)), func(name string) bool { return calls[name] })
		if known, ok := renamed[fresh]; ok && known != gone || len(its) > 0 && len(calls) > 0 && !common {
			doubtful[fresh] = true
		}
		renamed[fresh] = gone
	}
	maps.DeleteFunc(renamed, func(fresh, _ string) bool { return doubtful[fresh] })
	if gone, fresh := packagesOfOne(profiles, arms); len(gone) == 1 && len(fresh) == 1 {
		renamed[fresh[0]] = gone[0]
		renamed[unknown+" in "+fresh[0]] = unknown + " in " + gone[0]
	}
	return renamed
}

// A change is functions that one arm alone has: the baseline, or the candidate.
type change struct{ gone, fresh []string }

// changes are those of functions that one arm alone has, by keys of each.
func (t *tree) changes(names []string, keys func(name string) []string) map[string]*change {
	changes := map[string]*change{}
	for _, name := range names {
		for _, key := range keys(name) {
			if changes[key] == nil {
				changes[key] = new(change)
			}
			if c := changes[key]; t.sum(name, 0) > 0 {
				c.gone = append(c.gone, name)
			} else {
				c.fresh = append(c.fresh, name)
			}
		}
	}
	return changes
}

// packagesOfOne are those that the first of two arms alone has, and those that the second alone has, without Go's and what shared libraries are.
func packagesOfOne(profiles []Profile, arms [2]string) (gone, fresh []string) {
	has := map[string]*[2]bool{}
	for _, p := range profiles {
		side := slices.Index(arms[:], p.Arm)
		for _, one := range p.Packages {
			first, _, _ := strings.Cut(one.Name, "/")
			if side < 0 || float64(one.Time) < rowShare*float64(p.CPU) || slices.Contains(standard, first) || strings.Contains(one.Name, ".so") {
				continue
			}
			if has[one.Name] == nil {
				has[one.Name] = new([2]bool)
			}
			has[one.Name][side] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(has)) {
		switch *has[name] {
		case [2]bool{true, false}:
			gone = append(gone, name)
		case [2]bool{false, true}:
			fresh = append(fresh, name)
		}
	}
	return gone, fresh
}

// callers are the own functions that call one directly.
func (t *tree) callers(function string) map[string]bool {
	names := map[string]bool{}
	for _, i := range t.at[function] {
		if t.up[i] >= 0 {
			names[t.calls[t.up[i]].Function] = true
		}
	}
	return names
}

// callees are the functions that one calls directly.
func (t *tree) callees(function string) map[string]bool {
	names := map[string]bool{}
	for i, c := range t.calls {
		if t.up[i] >= 0 && t.calls[t.up[i]].Function == function && c.Function != function {
			names[c.Function] = true
		}
	}
	return names
}

// As gives functions other names: those of the candidate that of the baseline's, so that they are compared with these.
func As(profiles []Profile, candidate string, renamed map[string]string) []Profile {
	if len(renamed) == 0 {
		return profiles
	}
	list := slices.Clone(profiles)
	for i, p := range list {
		if p.Arm != candidate {
			continue
		}
		list[i].Work, list[i].Functions, list[i].Packages = slices.Clone(p.Work), slices.Clone(p.Functions), slices.Clone(p.Packages)
		for n, w := range p.Work {
			list[i].Work[n].Function = cmp.Or(renamed[w.Function], w.Function)
		}
		for n, one := range p.Packages {
			list[i].Packages[n].Name = cmp.Or(renamed[one.Name], one.Name)
		}
		for n, f := range p.Functions {
			list[i].Functions[n].Name = cmp.Or(renamed[f.Name], f.Name)
		}
	}
	return list
}
