package pipe

import (
	"context"
	"errors"
	"io"
	"os"
	"reflect"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/pipeline"
)

// The test binary is also the process that is printed to: the first argument says how it behaves.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "discards":
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		case "quits":
			_, _ = io.CopyN(io.Discard, os.Stdin, 100)
			os.Exit(0)
		case "stalls":
			time.Sleep(time.Minute)
			os.Exit(0)
		}
	}
	goleak.VerifyTestMain(m)
}

func process(behaviour string) []string { return []string{os.Args[0], behaviour} }

func newVU(t testing.TB, c Config) *vu {
	t.Helper()
	target, err := New(c)
	testenv.Must(t, err)
	v, err := target.NewVU(t.Context(), 0)
	testenv.Must(t, err)
	return v.(*vu)
}

func TestEveryRungMovesAllItems(t *testing.T) {
	for _, d := range pipeline.Designs() {
		for _, n := range []int{1, 3} {
			c := Config{Rung: d.Name, Items: 10_001,
				Config: pipeline.Config{Producers: min(n, d.MaxProducers), Consumers: min(n, d.MaxConsumers)}}
			v := newVU(t, c)
			for range 3 {
				outcome, err := v.Do(t.Context())
				if want := (load.Outcome{Ops: 10_001}); !reflect.DeepEqual(outcome, want) || err != nil {
					t.Errorf("%+v: %+v, %v, want %+v", c, outcome, err, want)
				}
			}
			testenv.Must(t, v.Close())
		}
	}
}

func TestAMismatchFails(t *testing.T) {
	v := newVU(t, Config{Rung: "spsc", Items: 20_000})
	faults := map[string]uint64{"a stray item": pipeline.Item(0, 20_001), "a repeated one": pipeline.Item(0, 5)}
	for name, stray := range faults {
		p, err := pipeline.New[uint64]("spsc", v.config)
		testenv.Must(t, err)
		testenv.Must(t, p.Producers[0].Send(t.Context(), stray))
		if outcome, err := v.move(t.Context(), p); !outcome.Failed || err != nil {
			t.Errorf("%s: %+v, %v, want Failed", name, outcome, err)
		}
	}
	if outcome, err := v.Do(t.Context()); outcome.Failed || err != nil {
		t.Errorf("afterwards: %+v, %v", outcome, err)
	}
}

func TestPrinting(t *testing.T) {
	v := newVU(t, Config{Rung: "chan", Items: 12, Print: true, Discard: process("discards")})
	outcome, err := v.Do(t.Context())
	// "sent 1\n" is 7 bytes, "received 1\n" 11: 9·18 for one digit and 3·20 for two.
	if want := (load.Outcome{Ops: 12, BytesOut: 222}); !reflect.DeepEqual(outcome, want) || err != nil {
		t.Errorf("%+v, %v, want %+v", outcome, err, want)
	}
	testenv.Must(t, v.Close())
}

func TestPrintingToAProcessThatQuits(t *testing.T) {
	v := newVU(t, Config{Rung: "chan", Print: true, Discard: process("quits")})
	for range 2 {
		if _, err := v.Do(t.Context()); errkind.Of(err) != errkind.Reset {
			t.Errorf("%v is of kind %s, want %s", err, errkind.Of(err), errkind.Reset)
		}
	}
	testenv.Must(t, v.Close())
}

// A full pipe blocks both sides: only the interruption releases them.
func TestPrintingToAProcessThatStalls(t *testing.T) {
	v := newVU(t, Config{Rung: "chan", Items: 100_000, Print: true, Discard: process("stalls")})
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := v.Do(ctx)
		cancel()
		if errkind.Of(err) != errkind.Timeout {
			t.Errorf("%v is of kind %s, want %s", err, errkind.Of(err), errkind.Timeout)
		}
	}
	if err := v.paper.process.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := v.Close(); err == nil {
		t.Error("a killed process ended without an error")
	}
}

func TestCancelled(t *testing.T) {
	for _, d := range pipeline.Designs() {
		v := newVU(t, Config{Rung: d.Name, Items: pipeline.MaxItems})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		if _, err := v.Do(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
	runtime.Gosched() // goleak looks for what is left
}

func TestVUsAreIndependent(t *testing.T) {
	target, err := New(Config{Rung: "mpmc", Items: 5000, Config: pipeline.Config{Producers: 2, Consumers: 2}})
	testenv.Must(t, err)
	plan := load.Plan{VUs: 4, Iterations: 40}
	result, err := load.Run(t.Context(), "pipe:mpmc", target, plan)
	testenv.Must(t, err)
	if result.Completed != 40 || result.Failed != 0 {
		t.Errorf("completed %d, failed %d", result.Completed, result.Failed)
	}
}

func TestDefaultItems(t *testing.T) {
	tests := []struct {
		config Config
		want   int
	}{
		{Config{Rung: "chan"}, 400_000},
		{Config{Rung: "chan", Print: true, Discard: process("discards")}, 10_000},
		{Config{Rung: "chan", Config: pipeline.Config{Buffer: 10_000}}, 1_000_000},
		{Config{Rung: "mpmc"}, 1_000_000},
		{Config{Rung: "spsc"}, 16_000_000},
		{Config{Rung: "spsc", Config: pipeline.Config{Batch: 128}}, 4_000_000}, // 128 / 32
		{Config{Rung: "chan-batch", Config: pipeline.Config{Batch: 1}}, 1_000_000},
		{Config{Rung: "spsc", Config: pipeline.Config{Buffer: 64}}, 2_000_000}, // the batch is limited to 64
		{Config{Rung: "spsc", Items: 5}, 5},
	}
	for _, tt := range tests {
		v := newVU(t, tt.config)
		if v.shares[0] != uint64(tt.want) {
			t.Errorf("%+v: %d items, want %d", tt.config, v.shares[0], tt.want)
		}
		testenv.Must(t, v.Close())
	}
}

func TestShares(t *testing.T) {
	v := newVU(t, Config{Rung: "mpsc", Items: 10, Config: pipeline.Config{Producers: 4}})
	if want := []uint64{3, 3, 2, 2}; !reflect.DeepEqual(v.shares, want) {
		t.Errorf("%v, want %v", v.shares, want)
	}
}
