package outbox

import (
	"crypto/aes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func fixedKey() challengeKey {
	block, err := aes.NewCipher([]byte("a key for tests."))
	if err != nil {
		panic(err)
	}
	return challengeKey{block}
}

func distinct(entries []uint32) bool {
	sorted := slices.Sorted(slices.Values(entries))
	return len(slices.Compact(sorted)) == len(entries)
}

func TestChallenge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(MinChallenge, MaxChallenge).Draw(t, "n")
		mic := rapid.Uint32().Draw(t, "mic")
		transaction := rapid.Uint64().Draw(t, "transaction")
		c := challenger{key: fixedKey()}
		got := c.draw(nil, n, mic, transaction)
		if len(got) != n || !slices.Contains(got, mic) || !distinct(got) {
			t.Fatalf("%d entries, want %d different ones with the MIC", len(got), n)
		}
		c.draw(nil, 100, 1, 2)
		if again := c.draw(nil, n, mic, transaction); !slices.Equal(again, got) {
			t.Fatal("another challenge for the same transaction")
		}
		if other := c.draw(nil, n, mic, transaction+1); slices.Equal(other, got) {
			t.Fatal("the same challenge for another transaction")
		}
		other := challenger{key: newChallengeKey()}
		if n > 8 && slices.Equal(other.draw(nil, n, mic, transaction), got) {
			t.Fatal("the same challenge under another key")
		}
	})
}

// TestChallengeSkips has the MIC drawn as one of the others, too.
func TestChallengeSkips(t *testing.T) {
	c := challenger{key: fixedKey()}
	for _, n := range []int{2, 4, 16, 127, 128, 300} {
		for _, mic := range c.draw(nil, n, 5, 9) {
			if again := c.draw(nil, n, mic, 9); len(again) != n || !distinct(again) || !slices.Contains(again, mic) {
				t.Errorf("%d entries: %d of them, or the MIC %d twice", n, len(again), mic)
			}
		}
	}
}

// TestTaken has entries share their highest bits: of 2 the highest 6, of 4096 the
// highest 17 (4096 · 32 = 2^17).
func TestTaken(t *testing.T) {
	for _, tt := range []struct{ n, bits int }{{2, 6}, {3, 6}, {4, 7}, {64, 11}, {4095, 16}, {4096, 17}} {
		c := challenger{key: fixedKey()}
		c.begin(1, tt.n)
		one := uint32(1) << (32 - tt.bits)
		steps := []struct {
			v    uint32
			free bool
		}{{0, true}, {one - 1, false}, {one, true}, {one, false}, {-one, true}, {1<<32 - 1, false}, {-one - 1, true}}
		for i, step := range steps {
			if c.take(step.v) != step.free {
				t.Errorf("%d entries, step %d: not %v", tt.n, i, step.free)
			}
		}
	}
}

// TestChallengePlace counts the places of the MIC. With 500·n draws each of n has
// 500 ± 22; six of these are passed once in 10^7 such tests, and the key is fixed.
func TestChallengePlace(t *testing.T) {
	c := challenger{key: fixedKey()}
	for _, n := range []int{2, 3, 32} {
		counts := make([]int, n)
		for transaction := range uint64(500 * n) {
			counts[slices.Index(c.draw(nil, n, 5, transaction), 5)]++
		}
		for place, count := range counts {
			if count < 366 || count > 634 {
				t.Errorf("place %d of %d: %d times, want about 500", place, n, count)
			}
		}
	}
}
