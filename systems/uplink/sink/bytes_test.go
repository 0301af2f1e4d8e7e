package sink

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"contend/pace"
	"contend/systems/uplink/gen"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
	"contend/websocket"
)

// The bytes of an uplink on the wire with a challenge of two, on average, are those in docs/uplink.md: a time stamp
// of 8 bytes, and of a rate 4 more, each of them 3.6 bytes long with its comma; and 4 of the frame, as messages are
// longer than 125 bytes.
func TestBytesOnTheWire(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/uplink.md")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		config gen.Config
		words  string
	}{
		{gen.Config{Mode: gen.Flat}, "%.0f bytes here"},
		{gen.Config{Mode: gen.Rate, Pacer: pace.Constant(1e6), Timer: pace.Runtime}, "%.0f where a rate is kept"},
	} {
		sum, n := 0, 0
		c := tt.config
		c.N, c.Seed = 3000, 1
		c.Add = func(_ context.Context, uplinks []*message.Uplink) error {
			for _, u := range uplinks {
				size := len(u.PHY) - 4
				m := message.AppendUpstream(nil, &message.Upstream{Transaction: uint64(time.Now().UnixNano()),
					DevEUIs: []lorawan.EUI{lorawan.DemoDevice(1, 0).DevEUI}, Radio: u.Radio, PHYNoMIC: u.PHY[:size],
					Challenge: []uint32{random.Uint32(), random.Uint32()}})
				begin := websocket.BeginFrame(nil)
				if frame := websocket.EndFrame(append(begin, m...), 0, 1); len(frame) != len(m)+4 {
					t.Fatalf("%d bytes in a frame of %d", len(m), len(frame))
				}
				sum, n = sum+len(m), n+1
			}
			return nil
		}
		if _, err := gen.Run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(tt.words, math.Round(float64(sum)/float64(n))); !strings.Contains(string(text), want) {
			t.Errorf("docs/uplink.md lacks %q", want)
		}
	}
}
