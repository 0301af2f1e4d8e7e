package loop

import (
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"contend/internal/testenv"
	"contend/load"
)

// A port where nobody listens may be given to the very socket that connects
// to it, which then speaks with itself.
func TestASocketThatIsItsOwnPeer(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		ip := netip.MustParseAddr(host)
		other, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Log(err) // a machine without IPv6
			continue
		}
		defer other.Close()
		port := other.Addr().(*net.TCPAddr).Port
		a := newAddress(ip, port, netip.Addr{})
		if !a.mirror {
			t.Errorf("port %d of %s is not seen as one that may be given away", port, host)
		}
		fd, err := a.connect(&Config{})
		testenv.Must(t, err)
		defer unix.Close(fd)
		if a.isOwn(fd) {
			t.Error("a connection to another socket is seen as one with itself")
		}
		listening, err := other.(*net.TCPListener).File()
		testenv.Must(t, err)
		defer listening.Close()
		if !a.isOwn(int(listening.Fd())) { // it has the address that is connected to
			t.Error("a socket's own address is not recognised")
		}
	}
	for _, outside := range []struct {
		ip   string
		port int
	}{{"127.0.0.1", 80}, {"192.0.2.1", 40_000}} {
		if newAddress(netip.MustParseAddr(outside.ip), outside.port, netip.Addr{}).mirror {
			t.Errorf("%v may be its own peer", outside)
		}
	}
}

type named struct{ *lines }

func (named) Name(slot int) string { return string(rune('a' + slot)) }

// Each way to end without an answer says which request it was.
func TestErrorsBelongToTheirRequest(t *testing.T) {
	s := serve(t, "tcp", func(_ int, conn net.Conn) { requests(conn, func(string) bool { return false }) })
	c := s.config(func([]int) Conversation { return named{&lines{}} })
	c.Connections = 1
	for _, away := range []bool{false, true} {
		if away {
			s.stop()
		}
		r := run(t, c, load.Plan{VUs: 2, Iterations: 10})
		if r.ErroredTotal() != 10 || len(r.Requests) != 2 || r.Requests["a"].Errored+r.Requests["b"].Errored != 10 {
			t.Errorf("errored %v, requests %+v", r.Errored, r.Requests)
		}
	}
}
