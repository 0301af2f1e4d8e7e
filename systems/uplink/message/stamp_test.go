package message

import (
	"slices"
	"testing"
	"time"
)

func TestStamps(t *testing.T) {
	at := time.Unix(1_700_000_000, 123)
	for _, s := range []Stamp{{At: at}, {At: at, Lag: 70 * time.Minute, HasLag: true}, {At: at, HasLag: true}} {
		payload := s.Append(nil)
		if got, end := ParseStamp(payload); !IsStamp(len(payload)) || end || !got.At.Equal(at) || got.Lag != s.Lag || got.HasLag != s.HasLag {
			t.Errorf("%+v is read as %+v, end %v", s, got, end)
		}
	}
	for lag, want := range map[time.Duration]time.Duration{-time.Second: 0, 2 * time.Hour: (1<<32 - 1) * time.Microsecond} {
		if got, _ := ParseStamp(Stamp{At: at, Lag: lag, HasLag: true}.Append(nil)); got.Lag != want {
			t.Errorf("a lag of %v is read as %v, want %v", lag, got.Lag, want)
		}
	}
	first, second := AppendEndMarker(nil, at), AppendEndMarker(nil, at.Add(time.Millisecond))
	if _, end := ParseStamp(first); !end || !IsStamp(len(first)) || slices.Equal(first, second) {
		t.Errorf("% x and % x: want two end markers", first, second)
	}
}

func TestWhereAndWhen(t *testing.T) {
	at := time.Unix(1000, 0)
	a, b := &Uplink{Arrived: at, Delay: time.Second, Origin: Origin{1, 2, 3, 1}}, &Uplink{Arrived: at, Origin: Origin{-1, 4, 5, 2}}
	if got := Origins([]*Uplink{a, b}); !slices.Equal(got, []Origin{a.Origin, b.Origin}) {
		t.Errorf("%v", got)
	}
	if got := a.Heard(); !got.Equal(at.Add(-time.Second)) {
		t.Errorf("heard at %v", got)
	}
}
