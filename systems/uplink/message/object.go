package message

import "strings"

// An object reads the members of a JSON object. A member that is null counts as
// absent, one that is not among the names is skipped.
type object struct {
	*scanner
	names []string
	seen  uint // bit i: names[i] was there
	last  int  // names[last] was found last: members tend to come in order
}

func (s *scanner) object(names []string) object {
	s.open('{')
	return object{scanner: s, names: names, last: -1}
}

// next goes to the next member, whose name is then in name.
func (o *object) next() bool {
	for o.more('}') {
		o.name = ""
		if !o.known() {
			o.skip(maxDepth)
			continue
		}
		o.name = o.names[o.last]
		if o.literal("null") {
			continue
		}
		if o.seen&(1<<o.last) != 0 {
			o.fail("%s comes twice", o.name)
			return false
		}
		o.seen |= 1 << o.last
		return o.err == nil
	}
	return false
}

// known reads a key, and reports whether it is among the names; last is then its
// index.
func (o *object) known() bool {
	if o.peek() == '"' {
		rest := o.data[o.pos+1:]
		for range o.names {
			name := o.follow()
			if len(rest) > len(name) && rest[len(name)] == '"' && string(rest[:len(name)]) == name {
				o.pos += len(name) + 2
				o.colon()
				return true
			}
		}
	}
	key := o.key() // a name with an escape may still be known
	for range o.names {
		if o.follow() == string(key) {
			return true
		}
	}
	return false
}

// follow goes to the next of the names.
func (o *object) follow() string {
	if o.last++; o.last >= len(o.names) {
		o.last = 0
	}
	return o.names[o.last]
}

// require wants the first n of the names to have been there.
func (o *object) require(n int) {
	for i, name := range o.names[:n] {
		if o.seen&(1<<i) == 0 {
			o.fail("%s is missing", name)
		}
	}
}

// has reports whether a member was there.
func (o *object) has(name string) bool {
	for i := range o.names {
		if o.names[i] == name {
			return o.seen&(1<<i) != 0
		}
	}
	return false
}

// one wants exactly one of the names to have been there.
func (o *object) one(names ...string) {
	n := 0
	for _, name := range names {
		if o.has(name) {
			n++
		}
	}
	if n != 1 {
		o.fail("%d of %s; expected exactly one", n, strings.Join(names, ", "))
	}
}
