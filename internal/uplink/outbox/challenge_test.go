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

// TestChallengeSkips has entries drawn twice, of which a list of 4096 has some in
// one of 512 cases (4096²/2 pairs / 2^32), and the MIC itself.
func TestChallengeSkips(t *testing.T) {
	c := challenger{key: fixedKey()}
	var dst []uint32
	for transaction := range uint64(600) {
		if dst = c.draw(dst[:0], MaxChallenge, 5, transaction); !distinct(dst) {
			t.Fatalf("transaction %d: the same entry twice", transaction)
		}
	}
	for _, n := range []int{4, 16, 17, 100} {
		first := c.draw(nil, n, 5, 9)
		for _, mic := range first {
			if again := c.draw(nil, n, mic, 9); !distinct(again) || !slices.Contains(again, mic) {
				t.Errorf("%d entries: the MIC %d twice", n, mic)
			}
		}
	}
	if !contains([]uint32{1, 2}, 2) || contains([]uint32{1, 2}, 3) {
		t.Error("contains")
	}
	c.clearTable(7)
	if c.seen(8, 7) || !c.seen(8, 7) || c.seen(9, 7) || !c.seen(8, 7) { // 8 and 9 share a place
		t.Error("seen")
	}
	if c.seen(1<<32-1, 7) || c.seen(1<<32-2, 7) || !c.seen(1<<32-2, 7) || !c.seen(1<<32-1, 7) { // around the end
		t.Error("seen at the end of the table")
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
