package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"contend/setting"
)

// mistakeAt is a mistake in the field at a path such as parts[1].load.vus; "" is the
// file. Its text follows the path.
func mistakeAt(path, format string, args ...any) *setting.Mistake {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")
	return &setting.Mistake{Setting: setting.Setting{Path: path}, Index: -1, Problem: text}
}

// mistakes collects what is wrong with a file, so that everything is reported
// at once.
type mistakes struct {
	name string // of the text
	// places has the places of the fields that the text gives.
	places map[string]setting.Place
	list   []*setting.Mistake
	// unread holds the paths, and the names, of fields whose values could not be
	// read: nothing else is reported about them, and they are not called missing.
	unread, unreadNames map[string]bool
}

func newMistakes(name string) *mistakes {
	return &mistakes{name: name, places: map[string]setting.Place{}, unread: map[string]bool{}, unreadNames: map[string]bool{}}
}

// add notes a mistake at the place of the path, or of what encloses it.
func (m *mistakes) add(path, format string, args ...any) {
	if !m.unread[path] {
		m.addAt(m.place(path), path, format, args...)
	}
}

// addSentence is add for a text with a subject of its own.
func (m *mistakes) addSentence(path, format string, args ...any) {
	if !m.unread[path] {
		m.noteSentence(m.place(path), path, format, args...)
	}
}

func (m *mistakes) noteSentence(at setting.Place, path, format string, args ...any) {
	found := mistakeAt(path, format, args...)
	found.Sentence = true
	m.note(at, found)
}

// addOnce notes a mistake unless the path has one.
func (m *mistakes) addOnce(path, format string, args ...any) {
	if !slices.ContainsFunc(m.list, func(found *setting.Mistake) bool { return found.Path() == path }) {
		m.add(path, format, args...)
	}
}

func (m *mistakes) addAt(at setting.Place, path, format string, args ...any) {
	m.note(at, mistakeAt(path, format, args...))
}

// note adds a mistake unless it is noted already.
func (m *mistakes) note(at setting.Place, found *setting.Mistake) {
	found.At = at
	if !slices.ContainsFunc(m.list, func(known *setting.Mistake) bool {
		return known.At == at && known.Path() == found.Path() && known.Text() == found.Text()
	}) {
		m.list = append(m.list, found)
	}
}

// cannotRead notes that the value at path was not read.
func (m *mistakes) cannotRead(at setting.Place, path, format string, args ...any) {
	m.addAt(at, path, format, args...)
	m.leaveOut(path)
}

// leaveOut notes that nothing is known of the value at path.
func (m *mistakes) leaveOut(path string) {
	names := segments(path)
	m.unread[path], m.unreadNames[names[len(names)-1]] = true, true
}

// anyUnread reports whether the value of a field of one of the names was not read.
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

// given reports whether the text gives the field, whatever its value.
func (m *mistakes) given(path string) bool {
	_, ok := m.places[path]
	return ok
}

func (m *mistakes) place(path string) setting.Place {
	for path != "" {
		if at, ok := m.places[path]; ok {
			return at
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return setting.Place{Line: 1, Column: 1}
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
	slices.SortStableFunc(m.list, func(a, b *setting.Mistake) int {
		return cmp.Or(cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
	errs := make([]error, len(m.list))
	for i, found := range m.list {
		errs[i] = errors.New(found.InFile(m.name))
	}
	return errors.Join(errs...)
}

// addSettings notes mistakes in settings of the field at path.
func (m *mistakes) addSettings(path string, list []*setting.Mistake) {
	for _, one := range list {
		one.Setting.Path, one.In = path, ""
		m.note(cmp.Or(one.At, m.place(one.Path())), one)
	}
}

// oneOf follows a problem: what is allowed and, where there is one, the likely
// meaning.
func oneOf(given string, allowed []string) string {
	m := setting.Mistake{Allowed: cmp.Or(strings.Join(allowed, ", "), "none"), Meant: setting.Nearest(given, allowed)}
	return m.Text()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
