package http

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"contend/protocol/data"
	"contend/protocol/wire"
	"contend/setting"
)

// Limits of Config.Requests.
const (
	maxRequests = 100
	maxWeight   = 1000
)

// A Request is one of several that a target sends. Zero fields are taken from
// the Config.
type Request struct {
	// Name is what results call it. It must be set and differ from the others.
	Name string `json:"name" file:"name"`
	// Weight is how often it is sent in proportion to the others, 1 to 1000;
	// zero means 1.
	Weight int `json:"weight" file:"weight" min:"0" max:"1000"`
	// Path is the path and query that are asked for instead of the URL's.
	Path string `json:"path" file:"path"`
	// Method and Body are those of Config.
	Method string     `json:"method" file:"method"`
	Body   wire.Bytes `json:"data" file:"data"`
	// Header comes after Config's, and replaces those of its fields that have the same names.
	Header []wire.Field `json:"header" file:"header" list:"repeat"`
	// ExpectStatus replaces Config's, and Checks come after them.
	ExpectStatus []int    `json:"expect_status" file:"expect_status" min:"100" max:"999"`
	Checks       []string `json:"checks" file:"checks" list:"repeat"`
}

// Requests are the elements of a file's list. The text form is the name of a JSON
// file that holds such a list.
type Requests []Request

// UnmarshalText reads the file.
func (r *Requests) UnmarshalText(path []byte) error {
	content, err := os.ReadFile(string(path))
	if err != nil {
		return setting.CannotRead(string(path), err)
	}
	if content, err = setting.Text(content); err != nil {
		return fmt.Errorf("%s %w", path, err)
	}
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	var list []Request
	if err := d.Decode(&list); err != nil {
		return fmt.Errorf("%s:%d: %w", path, lineAt(content, d.InputOffset()), plainly(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s:%d: something follows the list", path, lineAt(content, d.InputOffset()))
	}
	if len(list) == 0 {
		return errors.New("the list of requests is empty")
	}
	*r = list
	return nil
}

// plainly says of an unknown field which there are, and of what is no JSON that it must be.
func plainly(err error) error {
	if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown { // encoding/json has no type for it
		var names []string
		for _, s := range setting.Of(Request{}) {
			names = append(names, s.Name)
		}
		return fmt.Errorf("unknown field %s; expected %s", name, setting.Or(names))
	}
	if _, syntax := errors.AsType[*json.SyntaxError](err); syntax {
		return fmt.Errorf("not a list of requests in JSON: %w", err)
	}
	return err
}

// lineAt returns the line of a place in the file, from 1.
func lineAt(content []byte, offset int64) int {
	return 1 + bytes.Count(content[:min(int(offset), len(content))], []byte{'\n'})
}

// compileAll builds the requests and their order.
func (c Config) compileAll(o origin) ([]*request, []uint8, error) {
	if len(c.Requests) == 0 {
		r, err := c.compile(o.target, o)
		return []*request{r}, nil, err
	}
	errs := []error{c.checkRequests()}
	requests := make([]*request, len(c.Requests))
	for i, given := range c.Requests {
		target := o.target
		if given.Path != "" {
			target = c.target(o, given.Path)
		}
		var err error
		requests[i], err = c.with(given).compile(target, o)
		if err == nil && c.Data == nil {
			err = given.checkPath()
		}
		if err != nil {
			errs = append(errs, inRequest(i, err)...)
			continue
		}
		requests[i].name = given.Name
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	return requests, order(c.Requests), nil
}

// inRequest says of every mistake which request it is in.
func inRequest(i int, err error) []error {
	var errs []error
	for _, m := range setting.Mistakes(err) {
		m.In = fmt.Sprintf("requests[%d].", i)
		errs = append(errs, m)
	}
	return errs
}

// target returns what a request line asks for: for a proxy it includes the host.
func (c Config) target(o origin, path string) string {
	if c.Proxy != "" {
		return "http://" + o.host + path
	}
	return path
}

// with returns the Config of one request.
func (c Config) with(r Request) Config {
	if r.Method != "" {
		c.Method = r.Method
	}
	if r.Body != nil {
		c.Body = r.Body
	}
	if len(r.ExpectStatus) > 0 {
		c.ExpectStatus = r.ExpectStatus
	}
	c.Checks = slices.Concat(c.Checks, r.Checks)
	kept := slices.DeleteFunc(slices.Clone(c.Header), func(f wire.Field) bool {
		return slices.ContainsFunc(r.Header, func(own wire.Field) bool { return strings.EqualFold(own.Name, f.Name) })
	})
	c.Header = append(kept, r.Header...)
	return c
}

func (c Config) checkRequests() error {
	var errs []error
	if n := len(c.Requests); n > maxRequests {
		errs = append(errs, setting.At(&c, &c.Requests).Wrong("are %d; expected at most %d", n, maxRequests))
	}
	if c.SameLength && len(c.Requests) > 1 {
		errs = append(errs, setting.Setting{Name: "SameLength"}.Wrong("compares with the first answer, but there are several requests"))
	}
	names := map[string]bool{}
	for i, r := range c.Requests {
		var m *setting.Mistake
		switch name := setting.At(&r, &r.Name); {
		case r.Name == "":
			m = name.Wrong("is missing: a name that distinguishes the request, as in read")
		case names[r.Name]:
			m = name.Wrong("is %q, as that of another", r.Name)
		case r.Weight < 0 || r.Weight > maxWeight:
			weight := setting.At(&r, &r.Weight)
			m = weight.OutOf(r.Weight, weight.Allowed())
		}
		names[r.Name] = true
		if m != nil {
			errs = append(errs, inRequest(i, m)...)
		}
	}
	return errors.Join(errs...)
}

func (r Request) checkPath() error {
	if r.Path != "" && (r.Path[0] != '/' || strings.ContainsFunc(r.Path, func(c rune) bool { return c < ' ' || c == 0x7f || c == '#' })) {
		return setting.At(&r, &r.Path).Wrong("is %q, which does not begin with a slash, or holds a # or a control character: percent-encode it", r.Path)
	}
	return nil
}

// order returns a cycle in which every request has its share and is spread
// evenly: smooth weighted round-robin, as nginx chooses upstream servers. With
// weights 5, 1, 1 it is a a b a c a a.
func order(requests []Request) []uint8 {
	weights := make([]int, len(requests))
	total := 0
	for i, r := range requests {
		weights[i] = max(1, r.Weight)
		total += weights[i]
	}
	cycle := make([]uint8, total)
	current := make([]int, len(weights))
	for turn := range cycle {
		best := 0
		for i := range current {
			current[i] += weights[i]
			if current[i] > current[best] {
				best = i
			}
		}
		current[best] -= total
		cycle[turn] = uint8(best)
	}
	return cycle
}

// pick returns the request of the next iteration of any virtual user. The
// order is one for all of them, so that any number of iterations has the
// shares that the weights say, to within one turn.
func (t *Target) pick() *request {
	if t.order == nil {
		return t.requests[0]
	}
	turn := (t.turns.Add(1) - 1) % uint64(len(t.order))
	return t.requests[t.order[turn]]
}

// A sender makes the requests of one virtual user.
type sender struct {
	target  *Target
	cursor  *data.Cursor // nil without data
	request *request     // of the latest iteration
	size    int          // its bytes
	out     []byte
	body    []byte
}

func (t *Target) newSender(vu int) (*sender, error) {
	s := &sender{target: t, request: t.requests[0]}
	if t.data == nil {
		return s, nil
	}
	cursor, err := t.data.Cursor(vu)
	if err != nil {
		return nil, err
	}
	s.cursor = cursor
	return s, nil
}

// next moves on to the next iteration, whose answer p is to read.
func (s *sender) next(p *parser) {
	s.request = s.target.pick()
	if s.cursor != nil {
		s.cursor.Next()
	}
	p.reset()
	p.head, p.expect, p.keep, p.last = s.request.head, s.request.expect, s.request.keep, s.request.last
}

// bytes returns the request. They are valid until the next iteration.
func (s *sender) bytes() []byte {
	if s.request.fixed != nil {
		s.size = len(s.request.fixed)
		return s.request.fixed
	}
	s.out = s.appendTo(s.out[:0])
	return s.out
}

// appendTo appends the request to out.
func (s *sender) appendTo(out []byte) []byte {
	start := len(out)
	if s.request.fixed != nil {
		out = append(out, s.request.fixed...)
	} else {
		out, s.body = s.request.appendTo(out, s.body, s.cursor)
	}
	s.size = len(out) - start
	return out
}
