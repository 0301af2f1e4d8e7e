package main

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra/doc"

	"contend/internal/cli"
)

// manual writes a page for each command into man, and what completes them in each shell into completions.
func manual(folder string, made time.Time) error {
	pages, completions := filepath.Join(folder, "man"), filepath.Join(folder, "completions")
	root := cli.Command()
	return errors.Join(
		os.MkdirAll(pages, 0o755),
		os.MkdirAll(completions, 0o755),
		doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &made, Source: "contend", Manual: "contend"}, pages),
		root.GenBashCompletionFileV2(filepath.Join(completions, "contend.bash"), true),
		root.GenZshCompletionFile(filepath.Join(completions, "_contend")),
		root.GenFishCompletionFile(filepath.Join(completions, "contend.fish"), true),
		root.GenPowerShellCompletionFileWithDesc(filepath.Join(completions, "contend.ps1")),
	)
}
