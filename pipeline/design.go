package pipeline

import (
	"strings"

	"contend/setting"
)

// An Order is what a design promises about the order of items.
type Order string

// The orders.
const (
	// TotalOrder: there is one order of all items, and they are handed out in it.
	TotalOrder Order = "total"
	// ProducerOrder: each consumer gets the items of one producer in the order in
	// which they were sent; items of different producers may overtake each other.
	ProducerOrder Order = "per producer"
)

// A Design is a row of the table of designs: a name and what it guarantees. All
// of them are bounded, lose and duplicate nothing, and end as the package comment
// says.
type Design struct {
	Name    string // as New takes it
	Summary string // one line
	Order   Order
	// MaxProducers and MaxConsumers are the largest numbers of each.
	MaxProducers, MaxConsumers int
	// MinBuffer is the smallest Config.Buffer.
	MinBuffer int
	// Batched designs publish up to Config.Batch items together.
	Batched bool
	// Waiting says what a goroutine does that has to wait.
	Waiting string
	// Unpublished says how long a sent item can stay invisible to consumers.
	Unpublished string
}

// Designs returns the table of designs, simplest first.
func Designs() []Design {
	rows := table[struct{}]()
	designs := make([]Design, len(rows))
	for i, row := range rows {
		designs[i] = row.Design
	}
	return designs
}

// Lookup finds a design by name, in any case. The error is a *setting.Mistake.
func Lookup(name string) (Design, error) {
	var names []string
	for _, d := range Designs() {
		if d.is(name) {
			return d, nil
		}
		names = append(names, d.Name)
	}
	m := setting.NotOneOf(name, names)
	m.Setting.Name = "design"
	return Design{}, m
}

func (d Design) is(name string) bool { return strings.EqualFold(d.Name, name) }

type row[T any] struct {
	Design
	build func(Config) *Pipeline[T]
}

const (
	atOnce       = "not at all"
	untilBatch   = "until Batch - 1 further items, a Send while a consumer is parked, Flush or Close"
	parks        = "parks at once"
	polls        = "polls about 1 µs, yields, parks"
	pollsOrParks = "consumers poll about 1 µs, yield, park; producers park at once"
)

func table[T any]() []row[T] {
	return []row[T]{
		{Design{
			Name: "chan", Summary: "one channel of items",
			Order: TotalOrder, MaxProducers: maxHandles, MaxConsumers: maxHandles,
			Waiting: parks, Unpublished: atOnce,
		}, newChan[T]},
		{Design{
			Name: "chan-batch", Summary: "slices of items over a channel, recycled through a second one",
			Order: ProducerOrder, MaxProducers: maxHandles, MaxConsumers: maxHandles, MinBuffer: 1,
			Batched: true, Waiting: pollsOrParks, Unpublished: untilBatch,
		}, newBatch[T]},
		{Design{
			Name: "spsc", Summary: "one ring whose indices are published once per batch",
			Order: TotalOrder, MaxProducers: 1, MaxConsumers: 1, MinBuffer: 1,
			Batched: true, Waiting: polls, Unpublished: untilBatch,
		}, newRings[T]},
		{Design{
			Name: "mpsc", Summary: "one spsc ring per producer, read in turn by one consumer",
			Order: ProducerOrder, MaxProducers: maxHandles, MaxConsumers: 1, MinBuffer: 1,
			Batched: true, Waiting: polls, Unpublished: untilBatch,
		}, newRings[T]},
		{Design{
			Name: "mpmc", Summary: "one ring of numbered slots, claimed item by item by compare-and-swap",
			Order: TotalOrder, MaxProducers: maxHandles, MaxConsumers: maxHandles, MinBuffer: 1,
			Waiting: polls, Unpublished: atOnce,
		}, newSlots[T]},
	}
}
