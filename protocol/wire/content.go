package wire

import "slices"

// How much is kept of an answer's media type and Location.
const (
	maxMediaType = 100
	maxLocation  = 500
)

// AppendMediaType appends the media type that a Content-Type names, in lower case and
// without its parameters, at most 100 bytes of it, with ? for what is not printable
// ASCII.
func AppendMediaType[T ~string | ~[]byte](out []byte, contentType T) []byte {
	start := len(out)
	for i := range len(contentType) {
		switch c := contentType[i]; {
		case c == ';' || len(out)-start == maxMediaType:
			return out
		case c == ' ' || c == '\t':
		case 'A' <= c && c <= 'Z':
			out = append(out, c+'a'-'A')
		default:
			out = append(out, printable(c))
		}
	}
	return out
}

// AppendLocation appends at most 500 bytes of a Location, with ? for what is no
// printable ASCII.
func AppendLocation[T ~string | ~[]byte](out []byte, location T) []byte {
	for i := range min(len(location), maxLocation) {
		out = append(out, printable(location[i]))
	}
	return out
}

func printable(c byte) byte {
	if c <= ' ' || c > '~' {
		return '?'
	}
	return c
}

// IsSafe reports whether a request of HTTP only reads, so that it may be sent twice (RFC 9110,
// sections 9.2.1 and 9.2.2). Those that are only idempotent may not: a second DELETE is answered
// otherwise than the first.
func IsSafe(method string) bool {
	return slices.Contains([]string{"GET", "HEAD", "OPTIONS", "TRACE"}, method)
}

// IsRedirect reports whether a status of HTTP only names another URL (RFC 9110, section
// 15.4), which 300 (a choice of several) and 304 (what is there already) do not.
func IsRedirect(status int) bool {
	return slices.Contains([]int{301, 302, 303, 307, 308}, status)
}
