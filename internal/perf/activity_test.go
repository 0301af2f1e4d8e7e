package perf

import (
	"reflect"
	"testing"
)

// Each field of an Activity takes part in what is calculated of it.
func TestActivity(t *testing.T) {
	var a, b Activity
	for i := range reflect.ValueOf(a).NumField() {
		reflect.ValueOf(&a).Elem().Field(i).SetInt(100 + int64(i))
		reflect.ValueOf(&b).Elem().Field(i).SetInt(int64(i) - 1) // the first is negative
	}
	for name, c := range map[string]struct {
		got  Activity
		want func(i int64) int64
	}{
		"plus":  {a.Plus(b), func(i int64) int64 { return 99 + 2*i }},
		"minus": {a.Minus(b), func(int64) int64 { return 101 }},
		"half":  {a.Part(0.5), func(i int64) int64 { return 50 + (i+1)/2 }}, // 50.5 is 51
		"part":  {b.Part(1), func(i int64) int64 { return max(0, i-1) }},
	} {
		for i := range reflect.ValueOf(a).NumField() {
			if got := reflect.ValueOf(c.got).Field(i).Int(); got != c.want(int64(i)) {
				t.Errorf("%s: %s is %d, want %d", name, reflect.TypeFor[Activity]().Field(i).Name, got, c.want(int64(i)))
			}
		}
	}
}
