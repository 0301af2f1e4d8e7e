package outbox

import (
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func fixedKey() challengeKey {
	key := newChallengeKey(Secret([]byte("two keys for tests, of 16 bytes.")))
	key.order = [seedLen]byte{1}
	return key
}

// seed is one for each number.
func seed(n uint64) []byte { return append(binary.BigEndian.AppendUint64(nil, n), 0, 0, 0, 0) }

func sorted(entries []uint32) []uint32 { return slices.Sorted(slices.Values(entries)) }

func distinct(entries []uint32) bool { return len(slices.Compact(sorted(entries))) == len(entries) }

func TestChallenge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(MinChallenge, MaxChallenge).Draw(t, "n")
		phy := rapid.SliceOfN(rapid.Byte(), 12, 255).Draw(t, "frame")
		mic := binary.BigEndian.Uint32(phy[len(phy)-4:])
		c := challenger{key: fixedKey()}
		got := c.draw(nil, n, phy)
		if len(got) != n || !slices.Contains(got, mic) || !distinct(got) {
			t.Fatalf("%d entries, want %d different ones with the MIC", len(got), n)
		}
		c.draw(nil, 100, []byte("another frame"))
		if again := c.draw(nil, n, phy); !slices.Equal(again, got) {
			t.Fatal("another challenge for the same frame")
		}
		other := challenger{key: newChallengeKey(NewSecret())}
		if n > 8 && slices.Equal(other.draw(nil, n, phy), got) {
			t.Fatal("the same challenge under another key")
		}
	})
}

// Whoever gets a frame twice learns nothing from the second challenge: a shorter one has
// entries of the longer one alone. A frame that differs in its MIC alone, as somebody who
// was shown the rest may send it, has other entries.
func TestChallengesOfOneFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.IntRange(MinChallenge, MaxChallenge).Draw(t, "a"), rapid.IntRange(MinChallenge, MaxChallenge).Draw(t, "b")
		phy := rapid.SliceOfN(rapid.Byte(), 12, 255).Draw(t, "frame")
		c := challenger{key: fixedKey()}
		short, long := c.draw(nil, min(a, b), phy), sorted(c.draw(nil, max(a, b), phy))
		for _, v := range short {
			if _, ok := slices.BinarySearch(long, v); !ok {
				t.Fatalf("%d is one of %d entries, and none of %d", v, len(short), len(long))
			}
		}
		phy[len(phy)-1] ^= 1
		common := 0
		for _, v := range c.draw(nil, min(a, b), phy) {
			if _, ok := slices.BinarySearch(long, v); ok {
				common++
			}
		}
		if common > 2 { // by chance: 4096 · 4096 / 2^32 = 1/256 of them
			t.Fatalf("%d of %d entries are those of another MIC", common, len(short))
		}
	})
}

// Two customers who put together what each got for a frame, and who gets it twice.
func TestChallengesTogether(t *testing.T) {
	secret := NewSecret()
	one, other := newDesk(Config{Secret: secret}), newDesk(Config{Secret: secret, Trust: TrustConfig{Start: 64}})
	defer one.Close()
	defer other.Close()
	u := one.put(1)
	other.Put([]Message{{Uplink: u, Candidates: []Candidate{{DevEUI: 2}}}, {Uplink: u, Candidates: []Candidate{{DevEUI: 2}}}})
	long := take(t, one.Connect(), 1)[0].Challenge
	got := take(t, other.Connect(), 2)
	for _, v := range got[0].Challenge {
		if !slices.Contains(long, v) {
			t.Fatalf("the MIC is one of %d entries, as %d is in one challenge alone", len(long), v)
		}
	}
	if !slices.Equal(got[0].Challenge, got[1].Challenge) || got[0].Transaction == got[1].Transaction {
		t.Error("a frame that comes again has another challenge")
	}
}

// TestChallengeSkips also has the MIC drawn as one of the others.
func TestChallengeSkips(t *testing.T) {
	c := challenger{key: fixedKey()}
	for _, n := range []int{2, 4, 16, 17, 127, 128, 300} {
		for _, mic := range c.drawSeeded(nil, n, 5, seed(9)) {
			if again := c.drawSeeded(nil, n, mic, seed(9)); len(again) != n || !distinct(again) || !slices.Contains(again, mic) {
				t.Errorf("%d entries: %d of them, or the MIC %d twice", n, len(again), mic)
			}
		}
	}
}

// TestTaken has entries share their highest 17 bits, which have 4096 · 32 = 2^17 values.
// Entries are distinguished in the same way whether there are few or many.
func TestTaken(t *testing.T) {
	const one = 1 << (32 - 17)
	steps := []struct {
		v    uint32
		free bool
	}{{0, true}, {one - 1, false}, {one, true}, {one, false}, {1<<32 - one, true}, {1<<32 - 1, false}, {1<<32 - one - 1, true}}
	var c challenger
	var few []uint32
	c.prepare()
	for i, step := range steps {
		if c.take(step.v) != step.free || differs(step.v, few) != step.free {
			t.Errorf("step %d: not %v", i, step.free)
		}
		few = append(few, step.v)
	}
}

// TestChallengePlace counts the places of the MIC. With 500·n draws each of n has
// 500 ± 22; six of these are passed once in 10^7 such tests, and the key is fixed.
func TestChallengePlace(t *testing.T) {
	c := challenger{key: fixedKey()}
	for _, n := range []int{2, 3, 32} {
		counts := make([]int, n)
		for i := range uint64(500 * n) {
			counts[slices.Index(c.drawSeeded(nil, n, 5, seed(i)), 5)]++
		}
		for place, count := range counts {
			if count < 366 || count > 634 {
				t.Errorf("place %d of %d: %d times, want about 500", place, n, count)
			}
		}
	}
}
