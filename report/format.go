package report

import "contend/internal/unit"

// atConcurrency names a level.
func atConcurrency(n int) string { return "at concurrency " + unit.Count(n) }

// distinct are the values of a list, each once, in the order of their first.
func distinct[T any, V comparable](list []T, of func(T) V) (values []V) {
	seen := map[V]bool{}
	for _, one := range list {
		if v := of(one); !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
	}
	return values
}

// plural counts a noun: 1 round, 10 rounds.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return unit.Count(n) + " " + noun + "s"
}
