package h2

// tableSize is the largest dynamic table that either side may have without
// being asked (RFC 9113, section 6.5.2), and entryOverhead what each entry
// counts in addition to its bytes (RFC 7541, section 4.1).
const (
	tableSize     = 4096
	entryOverhead = 32
)

// A table is the dynamic table of RFC 7541, section 2.3.2. Its memory is reused
// and at most about three times tableSize.
type table struct {
	entries []entry // the oldest first
	data    []byte
	size    int // as the RFC counts
	max     int
	// version changes whenever the table does.
	version uint64
}

// An entry is a name and the value after it in table.data.
type entry struct{ start, value, end int }

func (e entry) size() int { return e.end - e.start + entryOverhead }

func (t *table) reset() {
	*t = table{entries: t.entries[:0], data: t.data[:0], max: tableSize}
}

// at returns the entry of an index, 0 for the newest. It is valid until the
// next insert.
func (t *table) at(i int) (name, value []byte, ok bool) {
	if i >= len(t.entries) {
		return nil, nil, false
	}
	e := t.entries[len(t.entries)-1-i]
	return t.data[e.start:e.value], t.data[e.value:e.end], true
}

// insert adds an entry. One that is larger than the table empties it.
func (t *table) insert(name, value []byte) {
	t.version++
	e := entry{start: len(t.data), value: len(t.data) + len(name), end: len(t.data) + len(name) + len(value)}
	t.evict(t.max - e.size())
	if e.size() > t.max {
		return
	}
	t.data = append(append(t.data, name...), value...)
	t.entries = append(t.entries, e)
	t.size += e.size()
	t.compact()
}

func (t *table) resize(size int) {
	t.version++
	t.max = size
	t.evict(size)
}

// evict removes the oldest entries until the others fit.
func (t *table) evict(fit int) {
	n := 0
	for ; n < len(t.entries) && t.size > fit; n++ {
		t.size -= t.entries[n].size()
	}
	t.entries = t.entries[:copy(t.entries, t.entries[n:])]
}

// compact gives up the bytes of removed entries.
func (t *table) compact() {
	unused := t.entries[0].start
	if unused <= tableSize {
		return
	}
	t.data = t.data[:copy(t.data, t.data[unused:])]
	for i := range t.entries {
		e := &t.entries[i]
		e.start, e.value, e.end = e.start-unused, e.value-unused, e.end-unused
	}
}
