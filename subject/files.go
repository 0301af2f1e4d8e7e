package subject

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const dirPlaceholder = "{{dir}}"

// inFolder returns the config with {{dir}} replaced by a fresh folder, if it has
// files or runs a container; otherwise {{dir}} is an unknown placeholder like any other.
func (c Config) inFolder() (Config, error) {
	if len(c.Files) == 0 && runAt(c.Command) == 0 {
		return c, nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		if !filepath.IsLocal(name) {
			return c, fmt.Errorf("file %q: its path must stay below {{dir}}", name)
		}
	}
	dir, err := os.MkdirTemp("", "contend-subject-")
	if err != nil {
		return c, err
	}
	c.folder = dir
	c.Command = c.withIDFile()
	inDir := func(text string) string { return strings.ReplaceAll(text, dirPlaceholder, dir) }
	c.Command, c.Env, c.Files = slices.Clone(c.Command), slices.Clone(c.Env), maps.Clone(c.Files)
	for i, arg := range c.Command {
		c.Command[i] = inDir(arg)
	}
	for i, entry := range c.Env {
		c.Env[i] = inDir(entry)
	}
	for name, text := range c.Files {
		c.Files[name] = inDir(text)
	}
	return c, nil
}

// writeFiles writes the files with the addresses filled in. Others may read
// them, because a server may give up its rights.
func (c Config) writeFiles(addrs map[string]string) error {
	if c.folder == "" {
		return nil
	}
	if err := os.Chmod(c.folder, 0o755); err != nil {
		return err
	}
	for name, text := range c.Files {
		path := filepath.Join(c.folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(substitute(text, addrs)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (c Config) removeFolder() error {
	if c.folder == "" {
		return nil
	}
	return os.RemoveAll(c.folder)
}
