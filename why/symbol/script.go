package symbol

import (
	"hash/fnv"
	"io"
	"regexp"
	"strconv"
	"strings"

	"contend/internal/lazyregexp"
)

const (
	// maxScript bounds a file of source code, in bytes, and maxScripts how many are kept.
	maxScript  = 4 << 20
	maxScripts = 1000
)

// scripts are what has been read of files of source code. The zero value has read nothing.
type scripts struct {
	kept map[fileID]*script // nil: it is too long
	pid  int
	seen map[string]*script // of this process; nil: it cannot be read
}

// A script is a file of source code.
type script struct {
	lines []string
	codes map[source]Code
}

// code is that of a function that a process runs: of its source. Each process of node has its own machine code of
// it, so At is the process; Python has none, and the same place everywhere.
func (s *scripts) code(pid int, of source) Code {
	if of.file == "" || installed().MatchString(of.file) {
		return Code{}
	}
	text := s.of(pid, strings.TrimPrefix(of.file, "file://"))
	if text == nil {
		return Code{}
	}
	code, known := text.codes[of]
	if !known {
		if of.line == "" {
			code.Digest = text.python(of.function)
		} else if n, err := strconv.Atoi(of.line[1:]); err == nil {
			code.Digest = text.javaScript(n)
		}
		text.codes[of] = code
	}
	if code.Digest != 0 && of.line != "" {
		code.At = uint64(pid)
	}
	return code
}

// of reads a file as a process sees it.
func (s *scripts) of(pid int, file string) *script {
	if s.pid != pid {
		s.pid, s.seen = pid, map[string]*script{}
	}
	of, known := s.seen[file]
	if !known {
		of = s.read(pid, file)
		s.seen[file] = of
	}
	return of
}

func (s *scripts) read(pid int, file string) *script {
	f, err := openScript(pid, file)
	if err != nil {
		return nil
	}
	defer f.Close()
	id, err := identify(f)
	if err != nil {
		return nil
	}
	if known, ok := s.kept[id]; ok {
		return known
	}
	if len(s.kept) >= maxScripts || s.kept == nil {
		s.kept = map[fileID]*script{}
	}
	s.kept[id] = newScript(f)
	return s.kept[id]
}

// newScript reads a file; nil if it is too long.
func newScript(f io.Reader) *script {
	text := readText(f, maxScript)
	if text == nil {
		return nil
	}
	return &script{strings.Split(string(text), "\n"), map[source]Code{}}
}

// beginsBody finds the end of parameters that have lines of their own.
var beginsBody = lazyregexp.New(`^\s*[)}\]].*\{\s*$`)

// javaScript hashes the function that begins in a line: that line, if its brackets are closed there, and else as far as the next
// that is not indented more. 0: there is no such line.
func (s *script) javaScript(line int) uint64 {
	if line < 1 || line > len(s.lines) {
		return 0
	}
	first := s.lines[line-1]
	end := line
	if strings.Count(first, "{") > strings.Count(first, "}") || strings.Count(first, "(") > strings.Count(first, ")") {
		for end < len(s.lines) && (isDeeper(s.lines[end], indent(first)) || beginsBody().MatchString(s.lines[end])) {
			end++
		}
		end = min(end+1, len(s.lines))
	}
	return digestOf(s.lines[line-1 : end])
}

// python hashes all functions with the last of the names that lead to one: as far as the next line that is not indented more.
// 0: it has no such function, as for a module.
func (s *script) python(function string) uint64 {
	name := ""
	for part := range strings.SplitSeq(function, ".") {
		if part != "" && part[0] != '<' {
			name = part
		}
	}
	if name == "" {
		return 0
	}
	definition, err := regexp.Compile(`^\s*(async\s+)?def\s+` + regexp.QuoteMeta(name) + `\b`)
	if err != nil {
		return 0
	}
	var all []string
	for i, first := range s.lines {
		if !definition.MatchString(first) {
			continue
		}
		quotes := quotesIn(first)
		end := i + 1
		for end < len(s.lines) && (quotes%2 == 1 || isDeeper(s.lines[end], indent(first)) || strings.HasPrefix(strings.TrimSpace(s.lines[end]), ")")) {
			quotes += quotesIn(s.lines[end])
			end++
		}
		all = append(all, s.lines[i:end]...)
	}
	if all == nil {
		return 0
	}
	return digestOf(all)
}

// isDeeper reports whether a line is empty or indented by more than so much.
func isDeeper(line string, than int) bool {
	return strings.TrimSpace(line) == "" || indent(line) > than
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// quotesIn counts what begins or ends a text of several lines.
func quotesIn(line string) int { return strings.Count(line, `"""`) + strings.Count(line, `'''`) }

// digestOf hashes lines. It is never 0.
func digestOf(lines []string) uint64 {
	h := fnv.New64a()
	for _, line := range lines {
		_, _ = io.WriteString(h, strings.TrimSpace(line)+"\n")
	}
	return max(1, h.Sum64())
}
