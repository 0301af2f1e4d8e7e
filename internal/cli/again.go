package cli

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"contend/setting"
)

// longer is the command line with another --duration and without --rounds.
func longer(args []string, most time.Duration) string {
	return again(args, []string{"--duration", "-d", "--rounds"}, "-d", setting.Duration(most))
}

// again is the command line with other words in place of some flags and their values.
func again(args, dropped []string, others ...string) string {
	words, rest := slices.Concat(args[:1], others), args[1:]
	for len(rest) > 0 && rest[0] != "--" {
		name, _, attached := strings.Cut(rest[0], "=")
		switch {
		case slices.Contains(dropped, name):
			if rest = rest[1:]; !attached && len(rest) > 0 {
				rest = rest[1:]
			}
		case attachedNumber.MatchString(rest[0]) && slices.Contains(dropped, rest[0][:2]):
			rest = rest[1:]
		default:
			words, rest = append(words, rest[0]), rest[1:]
		}
	}
	return typed(append(words, rest...))
}

// attachedNumber is a short flag with its value, as in -d30s.
var attachedNumber = regexp.MustCompile(`^-[a-z][0-9]`)

// next is the command line of another command for the same target, with what was given that
// it takes, too.
func next(command string, own []string, given setting.Values, target string) string {
	return typed(slices.Concat([]string{command}, own, flagArguments(given), []string{target}))
}

// typed is the command line of these words.
func typed(words []string) string {
	text := "contend"
	for _, word := range words {
		text += " " + quoted(word)
	}
	return text
}

// plain is a word that a shell takes as it is.
var plain = regexp.MustCompile(`^[-A-Za-z0-9_./:=,@%+]+$`)

// quoted is a word as it is typed into a shell.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
