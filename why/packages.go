package why

import (
	"cmp"
	"slices"
	"time"

	"contend/why/symbol"
)

// A Package has the time spent in its functions with all that they called, and without.
type Package struct {
	Name  string        `json:"name"`
	Time  time.Duration `json:"time_ns"`
	Alone time.Duration `json:"alone_ns"`
}

// NamesCompiled reports whether the profile has functions that a runtime made, such as those of a script, by name.
func (p Profile) NamesCompiled() bool {
	return slices.ContainsFunc(p.Packages, func(p Package) bool { return p.Name == symbol.Compiled })
}

// alone follows the name of a package and means its time without what it called.
const alone = " alone"

func packageOf(f symbol.Frame) string { return cmp.Or(f.Package, unknown) }

// packagesOf are the packages of stacks whose samples are worth so many ns each.
func packagesOf(stacks []Stack, each float64) []Package {
	with, without := map[string]float64{}, map[string]float64{}
	for _, s := range stacks {
		spent := each * float64(s.Samples)
		for name := range once(s.Frames, packageOf) {
			with[name] += spent
		}
		if len(s.Frames) > 0 {
			without[packageOf(s.Frames[0])] += spent
		}
	}
	var list []Package
	for name, spent := range with {
		list = append(list, Package{name, time.Duration(spent), time.Duration(without[name])})
	}
	return list
}

// addPackages adds those of the same name up.
func addPackages(all []Package) []Package {
	slices.SortFunc(all, func(a, b Package) int { return cmp.Compare(a.Name, b.Name) })
	var sums []Package
	for _, p := range all {
		if last := len(sums) - 1; last >= 0 && sums[last].Name == p.Name {
			sums[last].Time += p.Time
			sums[last].Alone += p.Alone
		} else {
			sums = append(sums, p)
		}
	}
	return sums
}

// packages returns the time, in ns, of each package with all that it called, and alone.
func (p Profile) packages() map[string]float64 {
	rows := map[string]float64{}
	for _, q := range p.Packages {
		rows[q.Name] += float64(q.Time)
		rows[q.Name+alone] += float64(q.Alone)
	}
	return rows
}

// withoutRepeats leaves out what a package does alone where that is all it does.
func withoutRepeats(packages []Row) []Row {
	whole := map[string]Row{}
	for _, r := range packages {
		whole[r.Name+alone] = r
	}
	return slices.DeleteFunc(packages, func(r Row) bool {
		of, ok := whole[r.Name]
		return ok && r.BaselineValue == of.BaselineValue && r.Shift == of.Shift
	})
}
