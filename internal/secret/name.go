package secret

import (
	"slices"
	"strings"
	"unicode"
)

// What names of secrets end with, in lower case without what separates words. Strong ones are
// believed amid prose, too.
var (
	strong = []string{"authorization", "cookie", "password", "passwd", "passphrase", "apikey", "accesskey", "secretkey", "privatekey", "requirepass"}
	weak   = []string{"token", "secret", "credential", "credentials", "signature", "authkey", "jwt", "sessionid", "sessid", "sid"}
	// whole are names, or the last words of names, and keys what stands before the last word key.
	whole = []string{"auth", "key", "sig", "pass", "pwd", "pw", "pat", "session", "bearer"}
	keys  = []string{"api", "access", "private", "secret", "auth", "app", "account", "subscription", "signing", "encryption", "master", "license", "client", "functions", "shared", "user", "x"}
	// never are names that end like those of secrets and are none.
	never = []string{"basicauth", "askpass", "bypass", "proxypass", "sslkey", "redisauth"}
)

// Named says whether the value behind a name is a secret.
func Named(name string) bool {
	words := wordsOf(name)
	if len(words) == 0 {
		return false
	}
	joined, last := strings.Join(words, ""), words[len(words)-1]
	switch {
	case slices.Contains(never, joined):
		return false
	case endsIn(joined, strong), endsIn(joined, weak):
		return true
	case len(words) == 1:
		return slices.Contains(whole, last)
	case last == "key":
		return slices.Contains(keys, words[len(words)-2])
	}
	return slices.Contains(whole, last)
}

// promising says at once of most names that they are none of a secret's.
func promising(name string) bool {
	last := strings.ToLower(name[max(0, len(name)-3):])
	return slices.ContainsFunc([]string{"ion", "kie", "ord", "swd", "ase", "key", "ass", "ken", "ret", "ial", "als", "ure", "jwt", "nid", "sid", "uth", "sig", "pwd", "pat", "rer"},
		func(end string) bool { return end == last }) || strings.HasSuffix(last, "pw")
}

// surely says the same amid prose, in which "token:" and "key:" are words.
func surely(name string) bool {
	return Named(name) && (strings.Contains(strings.Trim(name, "-"), "-") || endsIn(strings.Join(wordsOf(name), ""), strong))
}

// asFlag says the same of a flag whose value is the next word.
func asFlag(name string) bool {
	joined := strings.Join(wordsOf(name), "")
	return Named(name) && (endsIn(joined, strong) || endsIn(joined, weak) || endsIn(joined, []string{"pass", "pwd"}))
}

func endsIn(name string, ends []string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(name, end) })
}

// wordsOf are the words of a name, in lower case: those of api_key, api-key and apiKey are the same.
func wordsOf(name string) []string {
	var spaced strings.Builder
	before := ' '
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case unicode.IsUpper(r) && unicode.IsLower(before):
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(unicode.ToLower(r))
		before = r
	}
	return strings.Fields(spaced.String())
}

// variable is the name of a variable of a shell for what has a name.
func variable(name string) string {
	text := strings.Trim(strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && letterOrDigit(byte(r)) {
			return unicode.ToUpper(r)
		}
		return '_'
	}, name), "_")
	if text == "" || text[0] <= '9' {
		return "SECRET"
	}
	return text
}

// lines are names whose value goes to the end of the line.
func lines(name string) bool {
	return endsIn(strings.ToLower(name), []string{"authorization", "cookie"})
}
