package experiment

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed published/*.yaml
var publishedFiles embed.FS

// Embedded returns the experiments that come with contend, in a fixed order: the
// published ones, and what goes on from them. The caller owns them. It panics when an embedded file has a mistake, which a test rules out.
func Embedded() []*File {
	names, err := fs.Glob(publishedFiles, "published/*.yaml") // sorted
	if err != nil {
		panic(err)
	}
	files := make([]*File, len(names))
	for i, name := range names {
		files[i] = embeddedFile(name)
	}
	return files
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
