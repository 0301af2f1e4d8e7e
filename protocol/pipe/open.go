package pipe

import (
	"context"

	"contend/load"
	"contend/protocol/wire"
)

// An Address is a target in the form that Parse reads.
type Address struct {
	URL string `json:"target" file:"url" flag:"-"`
}

// Validate returns the mistakes of Parse.
func (a *Address) Validate() error {
	_, err := Parse(a.URL)
	return err
}

// Open opens the address.
func Open(_ context.Context, a Address, around wire.Surroundings) (load.Target, error) {
	c, err := Parse(a.URL)
	if err != nil {
		return nil, err
	}
	c.Discard = around.Discard
	t, err := New(c)
	if err != nil {
		return nil, err // and no pointer that looks like a target
	}
	return t, nil
}
