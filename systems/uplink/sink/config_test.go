package sink

import (
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	tests := []struct {
		config Config
		want   []string // nil: valid
	}{
		{Config{URL: "ws://127.0.0.1:1/x"}, nil},
		{Config{URL: "wss://router"}, nil},
		{Config{}, []string{`url is ""`}},
		{Config{URL: "http://router/"}, []string{`url is "http`}},
		{Config{URL: "ws:///path", Devices: -1, Expect: -2, Pool: 1 << 30, Idle: -4, FirstRetry: 1 << 62},
			[]string{"url is", "devices is -1", "expect is -2", "pool is", "idle is -4ns", "first retry is"}},
	}
	for _, tt := range tests {
		err := tt.config.Validate()
		if (err == nil) != (tt.want == nil) {
			t.Errorf("%+v: error %v", tt.config, err)
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %q lacks %q", err, want)
			}
		}
	}
}

// Whatever a server says, a message gets one answer, or none if it cannot be read.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"ProtocolVersion":1,"TransactionID":7,"DevEUIs":[12],"Radio":{"Frequency":1,"LoRa":{"Spreading":9,"Bandwidth":1},` +
		`"RSSI":-1,"SNR":1},"PHYPayloadNoMIC":[64,218,27,1,38,0,1,0],"MICChallenge":[1,2]}`))
	l, _ := newFeed(nil)
	s := &sink{solver: newSolver(0, 1), conn: l, recorder: newRecorder()} // for all: its histograms are large
	f.Fuzz(func(t *testing.T, data []byte) {
		l.out, l.answers, s.recorder.Malformed = l.out[:0], 0, 0
		s.message(data, s.last)
		if int64(l.answers)+s.recorder.Malformed != 1 {
			t.Errorf("%d answers, %d malformed", l.answers, s.recorder.Malformed)
		}
	})
}
