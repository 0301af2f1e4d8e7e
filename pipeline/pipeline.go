package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"

	"contend/setting"
)

// DefaultBatch is the batch size used for Config.Batch zero, in items.
const DefaultBatch = 1024

// maxHandles is the largest number of producers, and of consumers, of a pipeline.
const maxHandles = 256

// maxBuffer bounds Config.Buffer and Config.Batch, so that no size overflows.
const maxBuffer = 1 << 30

// ErrClosed is returned by Send on a closed Producer.
var ErrClosed = errors.New("pipeline: producer is closed")

// Config says how large a pipeline is. The zero value is one producer, one
// consumer, no buffer.
type Config struct {
	// Buffer is how many items fit between producers and consumers, up to 2^30.
	// Every design but chan needs at least 1. It is rounded up to a multiple of
	// Producers by spsc and mpsc, of Batch by chan-batch (where a batch that was
	// flushed early takes the place of a full one), and to a power of two by mpmc.
	Buffer int `flag:"buffer"`
	// Batch is the largest number of items published together, up to 2^30. Zero
	// means DefaultBatch. Rings limit it to Buffer / Producers; designs that do
	// not batch take it as 1.
	Batch int `flag:"batch"`
	// Producers and Consumers are the numbers of handles, up to 256. Zero means
	// 1.
	Producers int `flag:"producers"`
	Consumers int `flag:"consumers"`
}

// A Pipeline hands items of type T from its producers to its consumers.
type Pipeline[T any] struct {
	// Producers are the sending handles, one for each sending goroutine.
	Producers []*Producer[T]
	// Consumers are the receiving handles, one for each receiving goroutine.
	Consumers []*Consumer[T]
	// Config is the configuration as built: defaults filled in, sizes rounded.
	Config Config
	// Design is the row of the table by which the pipeline was built.
	Design Design
}

// New makes a pipeline of the named design; the name is matched in any case. The
// error joins a *setting.Mistake for each field that is wrong. A pipeline starts no
// goroutine and needs no clean-up beyond closing its producers.
func New[T any](design string, c Config) (*Pipeline[T], error) {
	for _, row := range table[T]() {
		if !row.is(design) {
			continue
		}
		c = c.withDefaults()
		if err := row.Check(c); err != nil {
			return nil, err
		}
		p := row.build(c)
		p.Design = row.Design
		return p, nil
	}
	_, err := Lookup(design)
	return nil, err
}

// Check returns an error that joins a *setting.Mistake for each field of c that the
// design cannot be built with.
func (d Design) Check(c Config) error {
	c = c.withDefaults()
	var errs []error
	check := func(field *int, least, most int) {
		if *field >= least && *field <= most {
			return
		}
		allowed := fmt.Sprintf("%d to %d with %s", least, most, d.Name)
		if least == most {
			allowed = fmt.Sprintf("%d with %s", least, d.Name)
		}
		errs = append(errs, setting.At(&c, field).OutOf(*field, allowed))
	}
	check(&c.Buffer, d.MinBuffer, maxBuffer)
	check(&c.Batch, 1, maxBuffer)
	check(&c.Producers, 1, d.MaxProducers)
	check(&c.Consumers, 1, d.MaxConsumers)
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	c.Batch = cmp.Or(c.Batch, DefaultBatch)
	c.Producers, c.Consumers = cmp.Or(c.Producers, 1), cmp.Or(c.Consumers, 1)
	return c
}

// assemble makes the handles of a pipeline over its outlets and inlets.
func assemble[T any](c Config, out func(i int) outlet[T], in func(i int) inlet[T]) *Pipeline[T] {
	p := &Pipeline[T]{Config: c}
	for i := range c.Producers {
		p.Producers = append(p.Producers, &Producer[T]{hungry: &neverHungry, out: out(i)})
	}
	for i := range c.Consumers {
		p.Consumers = append(p.Consumers, &Consumer[T]{in: in(i)})
	}
	return p
}

// multicore reports whether polling can see another goroutine's progress.
func multicore() bool { return runtime.GOMAXPROCS(0) > 1 }
