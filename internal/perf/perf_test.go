package perf

import (
	"errors"
	"maps"
	"math"
	"strings"
	"testing"
)

func TestSince(t *testing.T) {
	events := []Event{Instructions, PageFaults}
	begin := reading{1000, 1000, 50, math.MaxUint64 - 1}
	tests := []struct {
		name string
		end  reading
		want Counts // nil: multiplexed
	}{
		{"nothing", begin, Counts{Instructions: 0, PageFaults: 0}},
		{"over the top of 64 bits", reading{9000, 9000, 70, 3}, Counts{Instructions: 20, PageFaults: 5}},
		{"0.1 % missing", reading{11000, 10990, 70, 3}, Counts{Instructions: 20, PageFaults: 5}}, // 10,000 ns, 9,990 of them
		{"more than 0.1 % missing", reading{11000, 10989, 70, 3}, nil},
		{"never counted", reading{9000, 1000, 50, math.MaxUint64 - 1}, nil},
		{"longer than wanted", reading{9000, 9001, 70, 3}, Counts{Instructions: 20, PageFaults: 5}},
	}
	for _, tt := range tests {
		got, err := tt.end.since(begin, events)
		if tt.want == nil {
			if !errors.Is(err, ErrMultiplexed) || !strings.Contains(err.Error(), "[instructions page_faults] counted for") {
				t.Errorf("%s: %v, %v", tt.name, got, err)
			}
		} else if err != nil || !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}
