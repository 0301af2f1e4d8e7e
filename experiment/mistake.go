package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// place is where something stands in a text: line and column count from 1.
type place struct{ line, column int }

// A mistake is one thing that is wrong with a file.
type mistake struct {
	path string // of the field, such as parts[1].load.vus; "" is the file
	text string // the value, what is allowed, a hint
	at   place
}

// mistakes collects what is wrong with a file, so that all of it is said at
// once.
type mistakes struct {
	name string // of the text; "" for a File made in memory
	// places says where the fields stand that the text gives; empty for a File
	// made in memory.
	places map[string]place
	list   []mistake
	// unread holds the paths, and the names, of fields whose values could not be
	// read: nothing else is said of them, and they are not called missing.
	unread, unreadNames map[string]bool
}

func newMistakes(name string) *mistakes {
	return &mistakes{name: name, places: map[string]place{}, unread: map[string]bool{}, unreadNames: map[string]bool{}}
}

// add notes a mistake at the place of the path, or of what encloses it.
func (m *mistakes) add(path, format string, args ...any) {
	if !m.unread[path] {
		m.addAt(m.place(path), path, format, args...)
	}
}

// addOnce notes a mistake unless the path has one.
func (m *mistakes) addOnce(path, format string, args ...any) {
	if !slices.ContainsFunc(m.list, func(found mistake) bool { return found.path == path }) {
		m.add(path, format, args...)
	}
}

func (m *mistakes) addAt(at place, path, format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")
	found := mistake{path: path, text: text, at: at}
	if !slices.Contains(m.list, found) {
		m.list = append(m.list, found)
	}
}

// cannotRead notes that the value at path was not read.
func (m *mistakes) cannotRead(at place, path, format string, args ...any) {
	m.addAt(at, path, format, args...)
	names := segments(path)
	m.unread[path], m.unreadNames[names[len(names)-1]] = true, true
}

// anyUnread says whether the value of a field of one of the names was not read.
func (m *mistakes) anyUnread(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return m.unreadNames[name] })
}

// missing notes that a field is not set, unless it could not be read or
// something around it could not.
func (m *mistakes) missing(path, format string, args ...any) {
	if !m.anyUnread(segments(path)...) {
		m.add(path, "is missing: "+format, args...)
	}
}

// given says whether the text gives the field, whatever its value.
func (m *mistakes) given(path string) bool {
	_, ok := m.places[path]
	return ok
}

func (m *mistakes) place(path string) place {
	for path != "" {
		if at, ok := m.places[path]; ok {
			return at
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return place{1, 1}
}

// segments returns the names in a path, without indices.
func segments(path string) []string {
	var names []string
	for name := range strings.SplitSeq(path, ".") {
		name, _, _ = strings.Cut(name, "[")
		names = append(names, name)
	}
	return names
}

// err returns the mistakes in the order of the text, one per line, or nil.
func (m *mistakes) err() error {
	slices.SortStableFunc(m.list, func(a, b mistake) int {
		return cmp.Or(cmp.Compare(a.at.line, b.at.line), cmp.Compare(a.at.column, b.at.column))
	})
	errs := make([]error, len(m.list))
	for i, found := range m.list {
		where := "experiment"
		if m.name != "" {
			where = fmt.Sprintf("%s:%d:%d", m.name, found.at.line, found.at.column)
		}
		if found.path != "" {
			where += ": " + found.path
		}
		errs[i] = errors.New(where + ": " + found.text)
	}
	return errors.Join(errs...)
}

// nearest returns the name that is a slip of the keyboard away from the given
// one, or "".
func nearest(name string, names []string) string {
	if len(name) < 3 {
		return "" // anything is near
	}
	best, bound := "", len(name)/3
	for _, candidate := range slices.Sorted(slices.Values(names)) {
		if d := editDistance(strings.ToLower(name), strings.ToLower(candidate)); d <= bound {
			best, bound = candidate, d-1
		}
	}
	return best
}

// editDistance is the smallest number of runes to insert, delete, replace or
// swap with the next one (optimal string alignment; Damerau, "A technique for
// computer detection and correction of spelling errors", CACM 7(3), 1964).
func editDistance(a, b string) int {
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

// oneOf lists what is allowed and, where there is one, the likely meaning.
func oneOf(given string, allowed []string) string {
	list := "allowed are " + strings.Join(allowed, ", ")
	if len(allowed) == 0 {
		list = "there are none"
	}
	if near := nearest(given, allowed); near != "" {
		return fmt.Sprintf("did you mean %q? (%s)", near, list)
	}
	return list
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
