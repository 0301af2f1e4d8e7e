package sink

import (
	"slices"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

// A solver knows the keys of the generator's devices and what has arrived of
// each. It is not safe for concurrent use.
type solver struct {
	devices      *lorawan.DemoDevices
	index        map[lorawan.EUI]int // their numbers
	accounts     []account
	frame, plain []byte
}

func newSolver(seed uint64, devices int) *solver {
	s := &solver{
		devices: lorawan.NewDemoDevices(seed, devices), index: make(map[lorawan.EUI]int, devices), accounts: make([]account, devices),
	}
	for i := range devices {
		s.index[lorawan.DemoDevice(seed, i).DevEUI] = i
	}
	return s
}

// A finding is what became of a message.
type finding uint8

const (
	foreign   finding = iota // not of our devices, or not an uplink at all
	unsolved                 // no entry of the challenge is the MIC of one of our devices
	stamped                  // a data uplink of the generator
	endMarker                //
	join                     // a join request
	other                    // solved, with a payload that the generator does not send
)

// A solution is the answer to a challenge and what the frame said.
type solution struct {
	finding finding
	device  lorawan.EUI
	mic     uint32
	arrival arrival       // of stamped
	stamp   message.Stamp // of stamped
}

// solve looks for the MIC of the devices of a message in its challenge: one MIC
// for each candidate counter.
func (s *solver) solve(u *message.Upstream) solution {
	s.frame = append(append(s.frame[:0], u.PHYNoMIC...), 0, 0, 0, 0) // Parse wants a MIC
	f, err := lorawan.Parse(s.frame)
	if err != nil {
		return solution{}
	}
	found := solution{}
	for _, eui := range u.DevEUIs {
		number, ours := s.index[eui]
		if !ours {
			continue
		}
		found.finding = unsolved
		switch f.Type {
		case lorawan.UnconfirmedUp, lorawan.ConfirmedUp:
			if fcnt, mic, ok := s.findUplink(number, &f, u.Challenge); ok {
				return s.read(number, fcnt, mic, &f)
			}
		case lorawan.JoinRequest:
			mic := s.devices.Device(number).MIC.JoinMIC(f.Message()) // the demo devices join with NwkSKey
			if f.DevEUI == eui && contains(u.Challenge, mic) {
				return solution{finding: join, device: eui, mic: mic}
			}
		default:
			found.finding = foreign
		}
	}
	return found
}

func (s *solver) findUplink(number int, f *lorawan.Frame, challenge []uint32) (fcnt, mic uint32, ok bool) {
	d, a := s.devices.Device(number), &s.accounts[number]
	for n := 0; ; n++ {
		fcnt, ok := a.candidate(f.FCnt, n)
		if !ok {
			return 0, 0, false
		}
		mic := d.MIC.UplinkMIC(f.DevAddr, fcnt, f.Message())
		if contains(challenge, mic) {
			return fcnt, mic, true
		}
	}
}

// contains looks for a MIC, eight entries at a time: a challenge may have 4096.
func contains(challenge []uint32, mic uint32) bool {
	for ; len(challenge) >= 8; challenge = challenge[8:] {
		c := (*[8]uint32)(challenge)
		if c[0] == mic || c[1] == mic || c[2] == mic || c[3] == mic || c[4] == mic || c[5] == mic || c[6] == mic || c[7] == mic {
			return true
		}
	}
	return slices.Contains(challenge, mic)
}

// read decrypts the payload of a solved data uplink and books it.
func (s *solver) read(number int, fcnt, mic uint32, f *lorawan.Frame) solution {
	d, a := s.devices.Device(number), &s.accounts[number]
	found := solution{finding: other, device: d.DevEUI, mic: mic}
	if !message.IsStamp(len(f.Payload)) {
		return found
	}
	s.plain = d.Payload.Crypt(s.plain[:0], f.Payload, false, f.DevAddr, fcnt)
	stamp, end := message.ParseStamp(s.plain)
	if end {
		found.finding = endMarker
		s.end(fcnt)
		return found
	}
	found.finding, found.stamp = stamped, stamp
	found.arrival = a.note(fcnt)
	return found
}

// end books the counter of the end marker. It is the first device's; the others, which
// take turns with it, have sent one uplink fewer at least.
func (s *solver) end(fcnt uint32) {
	for i := range s.accounts {
		s.accounts[i].end = max(fcnt, 1) - 1
	}
	s.accounts[0].end = fcnt
}

// silent counts the devices that have sent something while nothing of it came.
func (s *solver) silent() (n int) {
	for i := range s.accounts {
		if a := &s.accounts[i]; a.end > 0 && len(a.seen) == 0 {
			n++
		}
	}
	return n
}

// count adds up the accounts.
func (s *solver) count() (arrived, missing int64) {
	for i := range s.accounts {
		a, m := s.accounts[i].count()
		arrived, missing = arrived+a, missing+m
	}
	return arrived, missing
}
