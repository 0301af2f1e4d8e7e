package counter

import (
	"encoding/json"
	"math"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAppendAnswer(t *testing.T) {
	// 2023-12-11T04:45:08Z is day 19702 since 1970: 19702·86400 + 17108 s.
	const published = 19702*86400 + 4*3600 + 45*60 + 8
	tests := []struct {
		name string
		give change
		want string
	}{
		// The published example says false here: it mixes two changes.
		{"published", change{305689, published},
			`{"counter":305689,"status":true,"lastChanged":"2023-12-11T04:45:08Z"}`},
		{"even", change{305690, published},
			`{"counter":305690,"status":false,"lastChanged":"2023-12-11T04:45:08Z"}`},
		{"first", change{1, 0}, `{"counter":1,"status":true,"lastChanged":"1970-01-01T00:00:00Z"}`},
		{"largest", change{math.MaxInt64, 0},
			`{"counter":9223372036854775807,"status":true,"lastChanged":"1970-01-01T00:00:00Z"}`},
		{"wrapped around", change{math.MinInt64 + 1, 0},
			`{"counter":-9223372036854775807,"status":true,"lastChanged":"1970-01-01T00:00:00Z"}`},
	}
	var s stamper
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := appendAnswer(nil, tt.give, s.text(tt.give.at))
			if string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if len(got) > answerSize {
				t.Errorf("%d bytes do not fit answerSize", len(got))
			}
		})
	}
}

// A status is an answer as its readers see it.
type statusAnswer struct {
	Counter     int64     `json:"counter"`
	Status      bool      `json:"status"`
	LastChanged time.Time `json:"lastChanged"`
}

func TestAnswerProperties(t *testing.T) {
	var s stamper
	rapid.Check(t, func(t *rapid.T) {
		c := change{
			value: rapid.Int64().Draw(t, "value"),
			at:    rapid.Int64Range(0, 253402300799).Draw(t, "at"), // to the year 9999
		}
		var got statusAnswer
		if err := json.Unmarshal(appendAnswer(nil, c, s.text(c.at)), &got); err != nil {
			t.Fatal(err)
		}
		odd := c.value%2 != 0
		if got.Counter != c.value || got.Status != odd || got.LastChanged.Unix() != c.at {
			t.Fatalf("%+v became %+v", c, got)
		}
	})
}

func TestStamperConcurrently(t *testing.T) {
	var s stamper
	var wg sync.WaitGroup
	for i := range int64(4) {
		wg.Go(func() {
			for k := range int64(1000) {
				unix := k/10 + i // callers are up to three seconds apart
				want := time.Unix(unix, 0).UTC().Format(time.RFC3339)
				if got := s.text(unix); got != want {
					t.Errorf("text(%d) = %q, want %q", unix, got, want)
				}
			}
		})
	}
	wg.Wait()
}
