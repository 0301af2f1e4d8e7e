package secret

import (
	"slices"
	"strings"
	"unicode"
)

// These are the ends of names of secrets, in lower case and without separators. Strong ones also
// count in prose.
var (
	strong = []string{"authorization", "cookie", "password", "passwd", "passphrase", "apikey", "accesskey", "secretkey", "privatekey", "requirepass"}
	weak   = []string{"token", "secret", "credential", "credentials", "signature", "authkey", "jwt", "sessionid", "sessid", "sid", "pass", "pwd", "passcode", "assertion"}
	// whole are names, or the last words of names; keys are the words before a last word key.
	whole = []string{"auth", "key", "sig", "pw", "pat", "session", "bearer"}
	keys  = []string{"api", "access", "private", "secret", "auth", "app", "account", "subscription", "signing", "encryption", "master", "license", "client", "functions", "shared", "user", "x"}
	// never are names with such an end whose values are no secrets.
	never = []string{"basicauth", "askpass", "bypass", "compass", "proxypass", "sslkey", "redisauth"}
)

// Named reports whether the value after a name is a secret.
func Named(name string) bool {
	words := wordsOf(name)
	if n := len(words); n > 1 && strings.Trim(words[n-1], "0123456789") == "" { // as in Signature-256
		words = words[:n-1]
	}
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

// promising quickly rules out most names.
func promising(name string) bool {
	name = strings.TrimRight(name, "-_0123456789")
	last := strings.ToLower(name[max(0, len(name)-3):])
	return slices.ContainsFunc([]string{"ion", "kie", "ord", "swd", "ase", "key", "ass", "ken", "ret", "ode", "ial", "als", "ure", "jwt", "nid", "sid", "uth", "sig", "pwd", "pat", "rer"},
		func(end string) bool { return end == last }) || strings.HasSuffix(last, "pw")
}

// surely is Named for prose, where "token:" and "key:" are words.
func surely(name string) bool {
	return Named(name) && (strings.Contains(strings.Trim(name, "-"), "-") || endsIn(strings.Join(wordsOf(name), ""), strong))
}

// asFlag is Named for a flag whose value is the next word.
func asFlag(name string) bool {
	joined := strings.Join(wordsOf(name), "")
	return Named(name) && (endsIn(joined, strong) || endsIn(joined, weak))
}

func endsIn(name string, ends []string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(name, end) })
}

// wordsOf returns the words of a name in lower case: api_key, api-key and apiKey have the same.
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

// variable turns a name into that of a shell variable.
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

// lines reports whether the value after a name extends to the end of the line.
func lines(name string) bool {
	return endsIn(strings.ToLower(name), []string{"authorization", "cookie"})
}
