package subject

import (
	"net"
	"testing"

	"contend/internal/testenv"
)

// A command that runs under another one gets its addresses, with a port that it insists on, too.
func TestUnder(t *testing.T) {
	port := testenv.HeldPort(t)
	for name, cfg := range map[string]Config{"handed over": role("serve", "{{addr}}"), "insisting": insisting(port, role("serve", "127.0.0.1:"+port))} {
		cfg.Under = []string{"/usr/bin/env", "UNDER=1"}
		s := started(t, cfg)
		conn, err := net.Dial("tcp", s.Addr(""))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		conn.Close()
	}
}

func TestContainersRunUnderNothing(t *testing.T) {
	_, err := Start(t.Context(), Config{Command: []string{"docker", "run", "image"}, Under: []string{"/usr/bin/valgrind"}})
	testenv.Says(t, err, "docker starts the server from its daemon, where valgrind does not see it")
}
