package secret

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"contend/internal/lazyregexp"
)

// A span is a secret in a text.
type span struct {
	from, to int
	name     string
}

// A form gives a secret away. The first group of its expression is the secret. Any text with such
// a secret contains one of the hints, and the search for these is much faster.
type form struct {
	find  func() *regexp.Regexp
	hints []string
	name  string
}

var forms = []form{
	{lazyregexp.New(`[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#'":@]*:([^\s/?#'"]+)@`), []string{"@"}, "password"},
	{lazyregexp.New(`[A-Za-z][A-Za-z0-9+.-]*://([^\s/?#'":@]+)@`), []string{"@"}, "token"},
	{lazyregexp.New(`\bBearer +([A-Za-z0-9._~+/-]{6,}=*)`), []string{"Bearer "}, "token"},
	{lazyregexp.New(`\bbearer +([A-Za-z._~+/-]*[0-9][A-Za-z0-9._~+/-]{5,}=*)`), []string{"bearer "}, "token"},
	{lazyregexp.New(`\b[Bb]asic +([A-Za-z0-9+/]{4,}(?:[0-9A-Z][a-zA-Z0-9+/]*={0,2}|={1,2}))`), []string{"asic "}, "authorization"},
	{lazyregexp.New(`\b(eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]*)`), []string{"eyJ"}, "token"},
	{lazyregexp.New(`\b((?:gh[opusr]_|github_pat_|glpat-|npm_|pypi-|hf_|xox[abeoprs]-|xapp-|dop_v1_|shpat_|[srp]k_(?:live|test)_)[A-Za-z0-9_-]{8,})`),
		[]string{"gh", "glpat-", "npm_", "pypi-", "hf_", "xox", "xapp-", "dop_", "shpat_", "k_live_", "k_test_"}, "token"},
	{lazyregexp.New(`\b(sk-[A-Za-z0-9_-]{12,}|(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9._-]{10,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})`),
		[]string{"sk-", "AKIA", "ASIA", "AIza", "ya29.", "SG."}, "token"},
	{lazyregexp.New(`(-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|$))`), []string{"PRIVATE KEY"}, "private_key"},
}

// field matches an input that is a header field as a whole, also after a flag or without its colon.
var field = lazyregexp.New(`^(?:--?[A-Za-z-]+=)?([!#$%&*+.^_|~0-9A-Za-z-]+)(?:: *| +)(\S[^\r\n]*)$`)

// find returns the secrets that names and forms give away, in no order.
func find(text string, input bool) []span {
	all := byName(text)
	if m := field().FindStringSubmatchIndex(text); input && m != nil && !reference(text[m[4]:m[5]]) {
		name, holds := text[m[2]:m[3]], Named
		if text[m[3]] != ':' {
			holds = surely
		}
		if holds(name) {
			all = append(all, span{m[4], m[5], name})
		}
	}
	for _, f := range forms {
		if !slices.ContainsFunc(f.hints, func(hint string) bool { return strings.Contains(text, hint) }) {
			continue
		}
		for _, m := range f.find().FindAllStringSubmatchIndex(text, -1) {
			if s := (span{m[2], m[3], f.name}); !reference(text[s.from:s.to]) {
				all = append(all, s)
			}
		}
	}
	return all
}

// common are words that are no secrets, even after the name of one.
var common = map[string]bool{"": true, "true": true, "false": true, "null": true, "none": true, "bearer": true, "basic": true, "token": true, "tokens": true, "authentication": true}

// places match what refers to a value: a variable of a shell or of a script, the placeholder of a
// row, the place of a secret, or a mask.
var places = lazyregexp.New(`\$\{[^}]*\}|\$[A-Z][A-Z0-9_]*\b|\{\{[^}]*\}\}|^(?:env|file):.*|\*\*\*`)

// reference reports whether a value only refers to a secret, or is a common word.
func reference(value string) bool {
	if strings.Trim(value, "\"'\\") == "" {
		return true // quotes around a variable
	}
	rest := places().ReplaceAllString(value, "")
	if rest == value {
		return common[strings.ToLower(value)]
	}
	return !slices.ContainsFunc(strings.Fields(rest), func(word string) bool {
		return !common[strings.ToLower(strings.Trim(word, ":;,='\""))] && len(word) > 2
	})
}

// formsOf returns the forms in which a secret may come back: escaped as in a URL or in JSON,
// unescaped, and its parts.
func formsOf(name, value string) []string {
	parts := []string{value}
	scheme, rest, found := strings.Cut(value, " ")
	if found && lines(name) && !strings.Contains(rest, " ") {
		parts = append(parts, rest)
		if pair, err := base64.StdEncoding.DecodeString(rest); err == nil && strings.EqualFold(scheme, "basic") {
			_, password, _ := strings.Cut(string(pair), ":")
			parts = append(parts, string(pair), password)
		}
	}
	if endsIn(strings.ToLower(name), []string{"cookie"}) {
		for one := range strings.SplitSeq(value, ";") {
			_, content, _ := strings.Cut(one, "=")
			parts = append(parts, strings.TrimSpace(content))
		}
	}
	var forms []string
	for _, part := range parts {
		forms = append(forms, part, url.QueryEscape(part), url.PathEscape(part))
		if plain, err := url.QueryUnescape(part); err == nil {
			forms = append(forms, plain)
		}
		if quoted, err := json.Marshal(part); err == nil {
			forms = append(forms, string(quoted[1:len(quoted)-1]))
		}
		var plain string
		if json.Unmarshal([]byte(`"`+part+`"`), &plain) == nil {
			forms = append(forms, plain)
		}
	}
	return forms
}
