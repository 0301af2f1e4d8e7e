package setting

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Nearest returns the name that is a slip of the keyboard away from the given
// one, or "".
func Nearest(name string, names []string) string {
	if len(name) < 3 {
		return "" // anything is near
	}
	best, bound := "", len(name)/3
	for _, candidate := range slices.Sorted(slices.Values(names)) {
		if apart := utf8.RuneCountInString(candidate) - utf8.RuneCountInString(name); max(apart, -apart) > bound {
			continue // so many runes are to be inserted or deleted at least
		}
		if d := EditDistance(strings.ToLower(name), strings.ToLower(candidate)); d <= bound {
			best, bound = candidate, d-1
		}
	}
	return best
}

// EditDistance is the smallest number of runes to insert, delete, replace or
// swap with the next one (optimal string alignment; Damerau, "A technique for
// computer detection and correction of spelling errors", CACM 7(3), 1964).
func EditDistance(a, b string) int {
	from, to := []rune(a), []rune(b)
	rows := make([][]int, len(from)+1)
	for i := range rows {
		rows[i] = make([]int, len(to)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i, x := range from {
		for j, y := range to {
			replaced := rows[i][j]
			if x != y {
				replaced++
			}
			rows[i+1][j+1] = min(replaced, rows[i][j+1]+1, rows[i+1][j]+1)
			if i > 0 && j > 0 && x == to[j-1] && from[i-1] == y {
				rows[i+1][j+1] = min(rows[i+1][j+1], rows[i-1][j-1]+1)
			}
		}
	}
	return rows[len(from)][len(to)]
}
