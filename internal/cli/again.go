package cli

import (
	"regexp"
	"strings"
	"time"

	"contend/setting"
)

// again is the command line with another --duration and without --rounds.
func again(args []string, most time.Duration) string {
	words := []string{"contend", args[0], "-d", setting.Duration(most)}
	rest := args[1:]
	for len(rest) > 0 && rest[0] != "--" {
		name, _, attached := strings.Cut(rest[0], "=")
		switch {
		case name == "--duration" || name == "-d" || name == "--rounds":
			if rest = rest[1:]; !attached && len(rest) > 0 {
				rest = rest[1:]
			}
		case attachedDuration.MatchString(rest[0]):
			rest = rest[1:]
		default:
			words, rest = append(words, quoted(rest[0])), rest[1:]
		}
	}
	for _, word := range rest {
		words = append(words, quoted(word))
	}
	return strings.Join(words, " ")
}

// attachedDuration is -d with its value, as in -d30s.
var attachedDuration = regexp.MustCompile(`^-d[0-9]`)

// plain is a word that a shell takes as it is.
var plain = regexp.MustCompile(`^[-A-Za-z0-9_./:=,@%+]+$`)

// quoted is a word as it is typed into a shell.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
