package data

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"

	"contend/pace"
	"contend/setting"
)

// An Order says which VU takes which row in which iteration. After the last
// row every order begins again. The zero value is Sequential.
type Order int

const (
	// Sequential hands the rows out one after the other, to whichever VU is the
	// next to begin an iteration.
	Sequential Order = iota
	// PerVU gives VU i of N the rows i, i+N, i+2N and so on: no two VUs use the
	// same row. It needs at least as many rows as VUs.
	PerVU
	// Random draws a row for each iteration, every row with the same chance. The
	// rows of a cursor follow from seed and VU.
	Random
)

// Values returns the text forms.
func (Order) Values() []string { return orders() }

// UnmarshalText reads a text form.
func (o *Order) UnmarshalText(text []byte) (err error) {
	*o, err = ParseOrder(string(text))
	return err
}

func (o Order) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

func orders() []string { return []string{"sequential", "per-vu", "random"} }

// ParseOrder reads sequential, per-vu or random.
func ParseOrder(text string) (Order, error) {
	for i, name := range orders() {
		if text == name {
			return Order(i), nil
		}
	}
	return 0, setting.NotAllowed(text, strings.Join(orders(), ", "))
}

// String returns what ParseOrder reads.
func (o Order) String() string {
	if o < 0 || int(o) >= len(orders()) {
		return fmt.Sprintf("Order(%d)", int(o))
	}
	return orders()[o]
}

// A Source hands rows to VUs. The zero value has no rows and serves templates
// that need none. It must not be copied after its first Cursor.
type Source struct {
	// Rows are the rows, or nil.
	Rows  *Rows
	Order Order
	// VUs is how many VUs there are at most; PerVU needs it.
	VUs int
	// Share is which of the VUs, and of the rows of Sequential, are handed out here; its
	// VUs are counted from 0, and VUs is of all.
	Share pace.Share
	// Seed feeds Random and the placeholders {{random}} and {{uuid}}.
	Seed uint64

	taken atomic.Uint64 // rows of Sequential so far
}

// Validate returns what is wrong with the order, a *setting.Mistake.
func (s *Source) Validate() error {
	var asked Settings
	order := setting.At(&asked, &asked.RowOrder)
	if s.Order < Sequential || s.Order > Random {
		return order.OutOf(s.Order, order.Allowed())
	}
	if s.Order == PerVU && s.Rows != nil && (s.VUs < 1 || s.VUs > s.Rows.Len()) {
		m := order.Wrong("is per-vu with %d callers and %d rows in %s", s.VUs, s.Rows.Len(), s.Rows.name)
		m.Allowed = fmt.Sprintf("1 to %d callers, so that no two use the same row", s.Rows.Len())
		return m
	}
	return nil
}

// Cursor makes the cursor of a VU, counted from 0 within the Share. It may be called
// concurrently. The fields must be valid; of PerVU, vu must be below VUs.
func (s *Source) Cursor(vu int) (*Cursor, error) {
	if vu >= 0 {
		vu = int(s.Share.Number(int64(vu)))
	}
	if vu < 0 || s.Rows != nil && s.Order == PerVU && vu >= s.VUs {
		return nil, fmt.Errorf("data: caller is %d; expected 0 to %d", vu, s.VUs-1)
	}
	return &Cursor{
		source:    s,
		vu:        vu,
		iteration: -1,
		rows:      uint64(s.Rows.Len()),
		random:    rand.New(rand.NewPCG(s.Seed, uint64(vu))),
	}, nil
}

// A Cursor is a VU's place in the rows. One goroutine at a time uses it.
type Cursor struct {
	source    *Source
	vu        int
	iteration int // from 0; -1 before the first
	row       int
	rows      uint64
	random    *rand.Rand
}

// Next moves to the row of the VU's next iteration. It is called once before
// each iteration, whose templates then see the same row.
func (c *Cursor) Next() {
	c.iteration++
	if c.rows == 0 {
		return
	}
	switch c.source.Order {
	case PerVU:
		if c.row += c.source.VUs; c.iteration == 0 || c.row >= int(c.rows) {
			c.row = c.vu
		}
	case Random:
		c.row = int(c.random.Uint64N(c.rows))
	default:
		c.row = int(uint64(c.source.Share.Number(int64(c.source.taken.Add(1)-1))) % c.rows)
	}
}
