package cli

import "strings"

// hasFlag reports whether a command has a flag, such as --rate or -c. Nothing is known about documents
// that no command measured, such as those of published figures.
func hasFlag(command, flag string) bool {
	newCommand, known := commands[command]
	if !known {
		return true
	}
	cmd := newCommand(&app{})
	flags := cmd.Flags()
	if cmd.HasSubCommands() || flag == "--help" {
		return true
	}
	if name, long := strings.CutPrefix(flag, "--"); long {
		return flags.Lookup(name) != nil
	}
	return len(flag) == 2 && flags.ShorthandLookup(flag[1:]) != nil
}
