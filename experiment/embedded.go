package experiment

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed published/*.yaml
var publishedFiles embed.FS

// Embedded returns the experiments that come with contend, or those of them with the given IDs, in a fixed order: the
// published ones, and what goes on from them. The caller owns them. It panics when an embedded file has a mistake, which a test rules out.
func Embedded(ids ...string) (files []*File) {
	names := embeddedNames()
	for i, id := range EmbeddedIDs() {
		if len(ids) == 0 || slices.Contains(ids, id) {
			files = append(files, embeddedFile(names[i]))
		}
	}
	return files
}

// EmbeddedIDs returns the IDs of all of them, which are also in the names of their files: to parse these takes 0.1 s of CPU.
func EmbeddedIDs() []string {
	ids := embeddedNames()
	for i, name := range ids {
		_, ids[i], _ = strings.Cut(strings.TrimSuffix(name, ".yaml"), "-")
	}
	return ids
}

func embeddedNames() []string {
	names, err := fs.Glob(publishedFiles, "published/*.yaml") // sorted
	if err != nil {
		panic(err)
	}
	return names
}

func embeddedFile(name string) *File {
	var f *File
	text, err := publishedFiles.ReadFile(name)
	if err == nil {
		f, err = Parse(name, text)
	}
	if err != nil {
		panic(fmt.Sprintf("experiment: embedded file: %v", err))
	}
	return f
}
