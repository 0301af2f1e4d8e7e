package count

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// What a file may have at most, so that a broken one does not use up the memory.
const (
	mostFunctions = 1 << 20
	mostLines     = 1 << 20   // further ones are left out
	mostNames     = 256 << 20 // bytes of all names of functions
	longestLine   = 1 << 20
)

// A profile is how many instructions were executed, by function and by line of source.
type profile struct {
	own   map[string]int64 // by function, without what it calls
	lines map[line]int64
}

func newProfile() profile { return profile{map[string]int64{}, map[line]int64{}} }

// A line of source is of a function, whose code may be in several files.
type line struct {
	function, file string
	number         int
}

// total is the sum over all functions.
func (p profile) total() (sum int64) {
	for _, n := range p.own {
		sum += n
	}
	return sum
}

// add adds what another process executed.
func (p profile) add(o profile) {
	for name, n := range o.own {
		p.own[name] += n
	}
	for at, n := range o.lines {
		p.lines[at] += n
	}
}

// instructions is the name of the only event that is read.
const instructions = "Ir"

// Unnamed is what cachegrind calls functions without a name, as all of a stripped program.
const Unnamed = "???"

// read reads a file that cachegrind wrote, of version 3.18 or later. The manual has its form ("Cachegrind file format"):
// lines of a count behind a number of a line of source, of the function and the file that the last fn= and fl= before them
// name. Until 3.20 a dot stands for no count; later versions leave out counts at the end of a line that are 0, and may not
// have one at all. Functions of the same name in several files are one, and so is what a compiler put into a function from
// other files. The sum is checked against that of the file: one that was not written to its end has none.
func read(r io.Reader) (profile, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), longestLine)
	p := reader{profile: newProfile(), column: -1, summary: -1}
	number := 0
	for lines.Scan() {
		number++
		if err := p.line(lines.Bytes()); err != nil {
			return profile{}, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return profile{}, fmt.Errorf("line %d: %w", number+1, err)
	}
	return p.whole()
}

type reader struct {
	profile
	function string // that counts are of
	file     string // that the function is in
	began    bool   // there was a function
	here     int64  // of it, since its name was read
	names    int    // bytes
	column   int    // of instructions among the events; -1: not known yet
	sum      int64
	summary  int64 // of the file; -1: not read yet
}

func (p *reader) line(line []byte) error {
	line = bytes.TrimRight(line, " \t\r")
	switch {
	case len(line) == 0 || line[0] == '#':
		return nil
	case p.summary >= 0:
		return errors.New("there is more after the summary")
	case line[0] >= '0' && line[0] <= '9':
		return p.counts(line)
	}
	if name, is := bytes.CutPrefix(line, []byte("fn=")); is {
		return p.begin(name)
	}
	for _, file := range []string{"fl=", "fi=", "fe="} {
		if name, is := bytes.CutPrefix(line, []byte(file)); is {
			p.file = string(name)
			return nil
		}
	}
	key, value, found := bytes.Cut(line, []byte(":"))
	if !found {
		return fmt.Errorf("%.40q is none of the lines of cachegrind", line)
	}
	switch string(key) {
	case "events":
		return p.events(value)
	case "summary":
		return p.ends(value)
	}
	return nil // desc, cmd, and what later versions may add
}

func (p *reader) events(value []byte) error {
	p.column = slices.IndexFunc(bytes.Fields(value), func(name []byte) bool { return string(name) == instructions })
	if p.column < 0 {
		return fmt.Errorf("events are %.40q, without %s", value, instructions)
	}
	return nil
}

func (p *reader) begin(name []byte) error {
	p.keep()
	if _, known := p.own[string(name)]; !known {
		p.names += len(name)
		if len(p.own) >= mostFunctions || p.names > mostNames {
			return errors.New("there are too many functions")
		}
		p.own[string(name)] = 0
	}
	p.function, p.began = string(name), true
	return nil
}

// keep adds what was read of a function.
func (p *reader) keep() {
	if p.here > 0 {
		p.own[p.function] += p.here
		p.here = 0
	}
}

// counts reads a line of counts behind the number of a line of source.
func (p *reader) counts(line []byte) error {
	if p.column < 0 || !p.began {
		return errors.New("counts come before the events and the function that they are of")
	}
	n, err := p.count(line, p.column+1)
	if err != nil {
		return err
	}
	if n > math.MaxInt64-p.sum {
		return errors.New("the sum overflows")
	}
	p.here, p.sum = p.here+n, p.sum+n
	return p.keepLine(line, n)
}

// keepLine adds what was read of a line of source. Number 0 is code without one.
func (p *reader) keepLine(text []byte, n int64) error {
	first, _, _ := bytes.Cut(text, []byte(" "))
	number, err := strconv.Atoi(string(first))
	if err != nil {
		return fmt.Errorf("%.40q is no number of a line", first)
	}
	if number == 0 || n == 0 {
		return nil
	}
	at := line{p.function, p.file, number}
	if known := p.lines[at]; known > 0 || len(p.lines) < mostLines {
		p.lines[at] = known + n
	}
	return nil
}

// count is the field of a line, 0 where there are fewer.
func (p *reader) count(line []byte, field int) (int64, error) {
	fields := bytes.FieldsSeq(line)
	i := 0
	for text := range fields {
		if i == field && string(text) != "." {
			n, err := strconv.ParseUint(string(text), 10, 63)
			if err != nil {
				return 0, fmt.Errorf("%.40q is no count", text)
			}
			return int64(n), nil
		}
		i++
	}
	return 0, nil
}

func (p *reader) ends(value []byte) (err error) {
	if p.column < 0 {
		return errors.New("there is a summary and no events")
	}
	p.keep()
	p.summary, err = p.count(value, p.column)
	return err
}

func (p *reader) whole() (profile, error) {
	switch {
	case p.summary < 0:
		return profile{}, errors.New("there is no summary: it was not written to its end")
	case p.summary != p.sum:
		return profile{}, fmt.Errorf("the counts add up to %d, and the summary is %d", p.sum, p.summary)
	}
	return p.profile, nil
}
