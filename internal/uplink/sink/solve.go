package sink

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"contend/internal/uplink/lorawan"
	"contend/internal/uplink/message"
)

// A solver knows the keys of the generator's devices and what has arrived of
// each. It is not safe for concurrent use.
type solver struct {
	seed     uint64
	index    map[lorawan.EUI]uint32
	accounts []account
	// prepared holds keys in the place of the device's number modulo its length.
	prepared     []preparedDevice
	frame, plain []byte
}

// maxPrepared bounds the devices whose keys are kept prepared, at 1 kB each.
const maxPrepared = 1 << 14

type preparedDevice struct {
	number uint32
	lorawan.Device
	mic     *lorawan.CMAC // nil: nobody's place
	payload *lorawan.Cipher
}

func newSolver(seed uint64, devices int) *solver {
	s := &solver{
		seed: seed, index: make(map[lorawan.EUI]uint32, devices), accounts: make([]account, devices),
		prepared: make([]preparedDevice, min(devices, maxPrepared)),
	}
	for i := range devices {
		s.index[lorawan.DemoDevice(seed, i).DevEUI] = uint32(i)
	}
	return s
}

// device returns a device with its prepared keys.
func (s *solver) device(number uint32) *preparedDevice {
	d := &s.prepared[int(number)%len(s.prepared)]
	if d.mic == nil || d.number != number {
		device := lorawan.DemoDevice(s.seed, int(number))
		*d = preparedDevice{number, device, lorawan.NewCMAC(device.NwkSKey), lorawan.NewCipher(device.AppSKey)}
	}
	return d
}

// A finding is what became of a message.
type finding uint8

const (
	foreign   finding = iota // none of our devices, or no uplink at all
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
	due     time.Time     // of stamped: when it was created, or meant to be sent
	lag     time.Duration // how much later it was sent
	hasLag  bool
}

// The payload of an uplink is the creation time in nanoseconds since the epoch;
// of a rate, the intended time, and after it the start lag in microseconds.
const (
	stampSize    = 8
	lagStampSize = 12
	endStamp     = math.MaxUint64 // eight ff bytes
)

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
			d := s.device(number)
			mic := d.mic.JoinMIC(f.Message()) // the demo devices join with NwkSKey
			if f.DevEUI == eui && contains(u.Challenge, mic) {
				return solution{finding: join, device: eui, mic: mic}
			}
		default:
			found.finding = foreign
		}
	}
	return found
}

func (s *solver) findUplink(number uint32, f *lorawan.Frame, challenge []uint32) (fcnt, mic uint32, ok bool) {
	d, a := s.device(number), &s.accounts[number]
	for n := 0; ; n++ {
		fcnt, ok := a.candidate(f.FCnt, n)
		if !ok {
			return 0, 0, false
		}
		mic := d.mic.UplinkMIC(f.DevAddr, fcnt, f.Message())
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
func (s *solver) read(number, fcnt, mic uint32, f *lorawan.Frame) solution {
	d, a := s.device(number), &s.accounts[number]
	found := solution{finding: other, device: d.DevEUI, mic: mic}
	if n := len(f.Payload); n != stampSize && n != lagStampSize {
		return found
	}
	s.plain = d.payload.Crypt(s.plain[:0], f.Payload, false, f.DevAddr, fcnt)
	stamp := binary.LittleEndian.Uint64(s.plain)
	if stamp == endStamp {
		found.finding = endMarker
		a.end = fcnt
		return found
	}
	found.finding = stamped
	found.due = time.Unix(0, int64(stamp))
	if len(s.plain) == lagStampSize {
		found.hasLag = true
		found.lag = time.Duration(binary.LittleEndian.Uint32(s.plain[stampSize:])) * time.Microsecond
	}
	found.arrival = a.note(fcnt)
	return found
}

// gaps returns how many uplinks are known to be missing.
func (s *solver) gaps() int64 {
	var sum int64
	for i := range s.accounts {
		sum += s.accounts[i].gaps()
	}
	return sum
}
