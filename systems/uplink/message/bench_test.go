package message

import (
	"strconv"
	"testing"
)

// challenges are the sizes between which trust moves.
var challenges = []int{2, 16, 4096}

func benchmarked(entries int) *Upstream {
	u := example()
	u.Challenge = make([]uint32, entries)
	for i := range u.Challenge {
		u.Challenge[i] = uint32(i+1) * 2654435761
	}
	return u
}

func BenchmarkAppendUpstream(b *testing.B) {
	for _, n := range challenges {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			u := benchmarked(n)
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				dst = AppendUpstream(dst[:0], u)
			}
			b.SetBytes(int64(len(dst)))
		})
	}
}

func BenchmarkParseUpstream(b *testing.B) {
	for _, n := range challenges {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			data := AppendUpstream(nil, benchmarked(n))
			var u Upstream
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := ParseUpstream(data, &u); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAnswer(b *testing.B) {
	data := AppendAnswer(nil, answers()["ack"])
	b.Run("append", func(b *testing.B) {
		a := answers()["ack"]
		b.ReportAllocs()
		for b.Loop() {
			data = AppendAnswer(data[:0], a)
		}
	})
	b.Run("parse", func(b *testing.B) {
		var a Answer
		b.ReportAllocs()
		for b.Loop() {
			if err := ParseAnswer(data, &a); err != nil {
				b.Fatal(err)
			}
		}
	})
}
