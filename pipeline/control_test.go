package pipeline

import (
	"context"
	"testing"
)

// faulty is an inlet that mishandles every item whose number is divisible by 10 000.
type faulty struct {
	inlet[uint64]
	fault func(f *faulty, ctx context.Context, c *Consumer[uint64], item uint64) (uint64, error)
	held  []uint64
}

func (f *faulty) receive(ctx context.Context, c *Consumer[uint64]) (uint64, error) {
	if len(f.held) > 0 {
		item := f.held[0]
		f.held = nil
		return item, nil
	}
	item, err := f.inlet.receive(ctx, c)
	if err == nil && item&MaxItems%10_000 == 0 {
		return f.fault(f, ctx, c, item)
	}
	return item, err
}

func drops(f *faulty, ctx context.Context, c *Consumer[uint64], _ uint64) (uint64, error) {
	return f.inlet.receive(ctx, c)
}

func swaps(f *faulty, ctx context.Context, c *Consumer[uint64], item uint64) (uint64, error) {
	f.held = []uint64{item}
	return f.inlet.receive(ctx, c)
}

func doubles(f *faulty, _ context.Context, _ *Consumer[uint64], item uint64) (uint64, error) {
	f.held = []uint64{item}
	return item, nil
}

func alters(_ *faulty, _ context.Context, _ *Consumer[uint64], item uint64) (uint64, error) {
	return item + 1<<50, nil
}

// A checker that never complains proves nothing: both checkers must catch each fault.
func TestFaultsAreCaught(t *testing.T) {
	faults := map[string]func(*faulty, context.Context, *Consumer[uint64], uint64) (uint64, error){
		"drops one in 10 000":   drops,
		"swaps two items":       swaps,
		"doubles one in 10 000": doubles,
		"alters one in 10 000":  alters,
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			p := mustNew[uint64](t, "chan", Config{Buffer: 100})
			out := p.Consumers[0]
			out.in, out.items = &faulty{inlet: out.in, fault: fault}, nil
			tally := new(Tally)
			sent := []uint64{25_000}
			go func() { _ = produce(forever, p.Producers[0], 0, sent[0], 0) }()
			seen, err := consume(forever, out, tally)
			if err != nil {
				t.Fatal(err)
			}
			if Audit(sent, tally) == nil {
				t.Error("Audit did not notice")
			}
			if exactly(sent, [][]uint64{seen}) == nil {
				t.Error("exactly did not notice")
			}
		})
	}
}
