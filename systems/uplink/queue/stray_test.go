package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

// A frame of any sender, in any partition and of any version, comes out once, or is set aside; those of one sender that
// one writer put into the same partition come in their order.
func FuzzIntake(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0, 1, 0, 1, 1, 3, 2, 2, 0, 3, 0, 0, 5, 1, 0, 7, 1, 6})
	f.Add([]byte{1, 1, 1, 1, 1, 2, 1, 1, 1, 0, 1, 0, 0, 1, 0})
	f.Fuzz(func(t *testing.T, ops []byte) {
		const parts = 2 // the embedded Redis takes its time for the scripts of each
		r := openURL(t, "")
		if _, err := partitions(t.Context(), r, parts); err != nil {
			t.Fatal(err)
		}
		way := map[string][]int{} // the frames of a sender that were put into a partition, in their order
		good, moved, bad := 0, 0, 0
		for i := 0; i+2 < len(ops) && i < 3*50; i += 3 {
			phy, version := fuzzFrame(ops[i], ops[i+1], i), "2"
			at := partitionOf(phy, parts)
			if ops[i]&8 != 0 {
				version = "1"
			}
			if ops[i]&4 != 0 {
				at = int(ops[i+2]) % parts
			}
			if ops[i]&0x30 == 0x30 {
				version, bad = "3", bad+1
			} else {
				good++
				key := fmt.Sprintf("%x in %d", lorawan.Sender(phy), at)
				way[key] = append(way[key], i)
				if at != partitionOf(phy, parts) {
					moved++
				}
			}
			addRaw(t, r, keyUplinks+strconv.Itoa(at), [][]string{with(fieldVersion, version, fieldPHY, string(phy))})
		}
		in, err := NewIntake(t.Context(), r, IntakeConfig{})
		if err != nil {
			t.Fatal(err)
		}
		came := map[int]int{} // when
		running, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- in.Run(running, func(uplinks []*message.Uplink) {
				for _, u := range uplinks {
					came[int(u.PHY[len(u.PHY)-1])] = len(came)
					in.Ack([]message.Origin{u.Origin})
				}
			})
		}()
		until(t, "all are acknowledged", func() bool { return in.Stats().Acked == uint64(good+moved+bad) })
		stop()
		if err := errors.Join(<-ended, in.Close(t.Context())); err != nil {
			t.Error(err)
		}
		if st := in.Stats(); st.Read != uint64(good+moved+bad) || st.Moved != uint64(moved) || st.Malformed[fieldVersion] != uint64(bad) || len(came) != good {
			t.Errorf("%+v, %d frames; want %d moved, %d malformed and %d frames", st, len(came), moved, bad, good)
		}
		for key, numbers := range way {
			if !slices.IsSortedFunc(numbers, func(a, b int) int { return came[a] - came[b] }) {
				t.Errorf("%s: %v came as %v", key, numbers, came)
			}
		}
	})
}

// fuzzFrame is a data frame, a join request or one of two rejoin requests of a sender, with a number where collectors look.
func fuzzFrame(kind, sender byte, number int) []byte {
	kind &= 3
	phy := make([]byte, []int{16, 23, 19, 24}[kind])
	phy[0] = []byte{0x40, 0x00, 0xc0, 0xc0}[kind]
	copy(phy[[]int{1, 9, 5, 10}[kind]:], []byte{sender % 3})
	if kind == 3 {
		phy[1] = 1
	}
	phy[len(phy)-1] = byte(number) // of the MIC
	return phy
}
