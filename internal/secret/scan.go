package secret

import "strings"

// byName finds values after names of secrets: in queries, forms, environments and flags
// (name=value), in flags with a value of their own (--name value), in header fields, YAML and
// scripts (name: value), and in JSON ("name": "value"), also if that is a string in other JSON.
func byName(text string) (all []span) {
	for i := 0; i < len(text); i++ {
		var s span
		var found bool
		switch text[i] {
		case '=', ':', ' ', '\t':
			s, found = behind(text, i)
		}
		if found {
			all = append(all, s)
			i = max(i, s.to-1)
		}
	}
	return all
}

// behind returns the value of the name before a separator, if it is a secret.
func behind(text string, at int) (s span, found bool) {
	name, quoted := nameBefore(text, at)
	if len(name) < 2 || !promising(name) {
		return s, false
	}
	holds, ends := Named, " \t\r\n&;#'\"<>,"
	switch {
	case text[at] == ' ' || text[at] == '\t':
		if name[0] != '-' || quoted {
			return s, false
		}
		holds, ends = asFlag, " \t\r\n'\""
	case text[at] == ':' && lines(name):
		holds, ends = surely, "\r\n'\"`"
	case text[at] == ':':
		ends = " \t\r\n'\"`,{}[]"
		if !quoted {
			holds = surely
		}
	}
	if !holds(name) {
		return s, false
	}
	s = span{name: strings.TrimLeft(name, "-")}
	s.from = at + 1
	if text[at] != '=' {
		s.from += len(text[s.from:]) - len(strings.TrimLeft(text[s.from:], " \t"))
	}
	var whole string
	s.from, s.to, whole = valueAt(text, s.from, ends)
	if text[at] != '=' && name[0] == '-' && (strings.HasPrefix(whole, "-") || strings.HasPrefix(whole, "(")) {
		return s, false // the next flag, or a remark about this one
	}
	return s, s.to > s.from && !reference(whole) && !reference(text[s.from:s.to])
}

// longestName bounds the search for a name, in bytes.
const longestName = 64

// nameBefore returns the name before a separator, and whether it is in quotes.
func nameBefore(text string, at int) (name string, quoted bool) {
	end := at
	if text[at] == ':' {
		end = len(strings.TrimRight(text[:at], " \t"))
	}
	if end > 0 && strings.IndexByte("\"'", text[end-1]) >= 0 {
		quoted = true
		if end--; end > 0 && text[end-1] == '\\' {
			end--
		}
	}
	from := end
	for from > 0 && end-from < longestName && (letterOrDigit(text[from-1]) || strings.IndexByte("_.-[]", text[from-1]) >= 0) {
		from--
	}
	return text[from:end], quoted
}

// valueAt returns where a value is: in quotes, or up to one of the ends and without the punctuation
// of a sentence. whole includes that.
func valueAt(text string, from int, ends string) (start, end int, whole string) {
	escaped := strings.HasPrefix(text[from:], `\"`)
	switch {
	case escaped:
		from += 2
	case from < len(text) && strings.IndexByte("\"'`", text[from]) >= 0:
		from++
	default:
		n := strings.IndexAny(text[from:], ends)
		if n < 0 {
			n = len(text) - from
		}
		whole = text[from : from+n]
		return from, from + len(strings.TrimRight(whole, ".,:;)]}\\ \t")), whole
	}
	quote := text[from-1]
	for end = from; end < len(text); end++ {
		switch {
		case text[end] == '\\' && escaped && strings.HasPrefix(text[end:], `\"`):
			return from, end, text[from:end]
		case text[end] == '\\':
			end++
		case text[end] == quote:
			return from, end, text[from:end]
		}
	}
	end = min(end, len(text))
	return from, end, text[from:end]
}
