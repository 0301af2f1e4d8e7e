package secret

import "strings"

// byName finds values after names of secrets: in queries, forms, environments and flags
// (name=value), in flags with a value of their own (--name value), in header fields, YAML and
// scripts (name: value), in JSON ("name": "value"), also if that is a string in other JSON, in
// checks of header fields (header name == value), in URLs within URLs (name%3Dvalue), and in XML (<name>value</name>).
func byName(text string) (all []span) {
	for i := 0; i < len(text); i++ {
		var s span
		var found bool
		switch text[i] {
		case '=', ':', ' ', '\t':
			s, found = behind(text, i)
		case '%':
			s, found = encoded(text, i)
		case '>':
			s, found = element(text, i)
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
	if compares(text, at) {
		s.from++
	}
	if text[at] != '=' || compares(text, at) {
		s.from += len(text[s.from:]) - len(strings.TrimLeft(text[s.from:], " \t"))
	}
	if quoted && strings.HasPrefix(text[s.from:], "[") {
		s.from++
		ends = "]\r\n"
		if n := strings.IndexAny(text[s.from:], ends); n >= 0 {
			s.to = s.from + n
			return s, s.to > s.from
		}
	}
	var whole string
	s.from, s.to, whole = valueAt(text, s.from, ends)
	if text[at] != '=' && name[0] == '-' && (strings.HasPrefix(whole, "-") || strings.HasPrefix(whole, "(")) {
		return s, false // the next flag, or a remark about this one
	}
	return s, s.to > s.from && !reference(whole) && !reference(text[s.from:s.to])
}

// encoded returns the value after an encoded equals sign, as in a URL that a query contains.
func encoded(text string, at int) (s span, found bool) {
	if !strings.HasPrefix(text[at:], "%3D") && !strings.HasPrefix(text[at:], "%3d") {
		return s, false
	}
	name, _ := nameBefore(text, at)
	if at > len(name) && text[at-len(name)-1] == '%' && len(name) > 2 {
		name = name[2:] // %3Fname
	}
	if !promising(name) || !Named(name) {
		return s, false
	}
	s = span{from: at + len("%3D"), name: name}
	_, s.to, _ = valueAt(text, s.from, " \t\r\n&;#'\"<>,")
	if end := strings.Index(text[s.from:s.to], "%26"); end >= 0 {
		s.to = s.from + end
	}
	return s, s.to > s.from && !reference(text[s.from:s.to])
}

// element returns the text of an element of XML whose start tag ends at a place.
func element(text string, at int) (s span, found bool) {
	begin := strings.LastIndexByte(text[max(0, at-longestTag):at], '<')
	if begin < 0 {
		return s, false
	}
	tag := text[max(0, at-longestTag)+begin+1 : at]
	name, _, _ := strings.Cut(tag, " ")
	if strings.HasSuffix(tag, "/") || !promising(name) || !asFlag(name) || !letterOrDigit(name[0]) {
		return s, false
	}
	s = span{from: at + 1, name: name[strings.LastIndexByte(name, ':')+1:]}
	s.from += len(text[s.from:]) - len(strings.TrimPrefix(text[s.from:], "<![CDATA["))
	_, s.to, _ = valueAt(text, s.from, "<]\r\n")
	return s, s.to > s.from && !reference(text[s.from:s.to])
}

// longestTag bounds the search for the beginning of a tag, in bytes.
const longestTag = 256

// compares reports whether a check compares a header field there. In code such a name is followed
// by a variable.
func compares(text string, at int) bool {
	if !strings.HasPrefix(text[at:], "== ") {
		return false
	}
	words := strings.Fields(text[max(0, at-longestName):at])
	return len(words) > 1 && words[len(words)-2] == "header"
}

// longestName bounds the search for a name, in bytes.
const longestName = 64

// nameBefore returns the name before a separator, and whether it is in quotes.
func nameBefore(text string, at int) (name string, quoted bool) {
	end := at
	if text[at] == ':' || compares(text, at) {
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
