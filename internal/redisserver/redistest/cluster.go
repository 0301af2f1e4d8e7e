package redistest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/internal/testenv"
)

// slots is how many a cluster has.
const slots = 16384

// nodeTimeout is after how many milliseconds of silence the nodes of a cluster take one for dead: long
// for a busy machine, short for a test.
const nodeTimeout = "2000"

// A Cluster is one of real servers: masters, each with a range of slots, and replicas.
type Cluster struct {
	// Masters are in the order of their slots, and Replicas[i] is of Masters[i] when they start.
	Masters, Replicas []*Server
}

// StartCluster starts so many masters, each with a replica if they are wanted. It ends with the test.
func StartCluster(t testing.TB, masters int, replicas bool) *Cluster {
	t.Helper()
	c := &Cluster{}
	node := func() *Server {
		return Start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", nodeTimeout, "--cluster-port", testenv.HeldPort(t), "--cluster-require-full-coverage", "no")
	}
	for range masters {
		c.Masters = append(c.Masters, node())
		if replicas {
			c.Replicas = append(c.Replicas, node())
		}
	}
	for i, m := range c.Masters {
		m.Do("CLUSTER", "ADDSLOTSRANGE", fmt.Sprint(i*slots/masters), fmt.Sprint((i+1)*slots/masters-1))
	}
	for _, s := range c.all()[1:] {
		c.Masters[0].Do("CLUSTER", "MEET", "127.0.0.1", s.port, s.argument("--cluster-port"))
	}
	c.agree()
	for i, s := range c.Replicas {
		s.Do("CLUSTER", "REPLICATE", c.Masters[i].Do("CLUSTER", "MYID"))
	}
	for _, s := range c.Replicas {
		s.inStep()
	}
	c.agree()
	return c
}

func (c *Cluster) all() []*Server {
	return append(c.Masters[:len(c.Masters):len(c.Masters)], c.Replicas...)
}

// agree waits until all know all, the slots, and which of two claims to a slot is newer.
func (c *Cluster) agree() {
	all := c.all()
	for _, s := range all {
		s.t.Helper()
		s.until("the nodes of a cluster agree", func() bool {
			info := s.Do("CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d\r", len(all))) &&
				strings.Contains(info, fmt.Sprintf("cluster_slots_ok:%d\r", slots)) && slices.Equal(s.claims(), all[0].claims())
		})
	}
}

// claims are the masters that this node knows, each with its epoch and its slots. Of two claims to a slot the greater epoch wins.
func (s *Server) claims() (all []string) {
	for line := range strings.Lines(s.Do("CLUSTER", "NODES")) {
		if fields := strings.Fields(line); strings.Contains(fields[2], "master") {
			all = append(all, strings.Join(append(fields[:1], fields[6:]...), " "))
		}
	}
	return slices.Sorted(slices.Values(all))
}

// MoveSlot moves the slot of a key, with all that is in it, from Masters[from] to Masters[to]. It returns when all nodes
// know: from one that has not heard of it, an older claim to the next slot could win over the newer.
func (c *Cluster) MoveSlot(key string, from, to int) {
	a, b := c.Masters[from], c.Masters[to]
	slot, aID, bID := a.Do("CLUSTER", "KEYSLOT", key), a.Do("CLUSTER", "MYID"), b.Do("CLUSTER", "MYID")
	b.Do("CLUSTER", "SETSLOT", slot, "IMPORTING", aID)
	a.Do("CLUSTER", "SETSLOT", slot, "MIGRATING", bID)
	a.Do("MIGRATE", "127.0.0.1", b.port, key, "0", "5000")
	b.Do("CLUSTER", "SETSLOT", slot, "NODE", bID)
	for _, s := range c.Masters {
		if s != b {
			s.Do("CLUSTER", "SETSLOT", slot, "NODE", bID)
		}
	}
	c.agree()
}

// URL names all nodes.
func (c *Cluster) URL() string {
	all := c.all()
	url := all[0].TCP()
	for i, s := range all[1:] {
		url += map[bool]string{true: "?addr=", false: "&addr="}[i == 0] + net.JoinHostPort("127.0.0.1", s.port)
	}
	return url
}

// Do sends a command to this server alone, and returns its reply as text.
func (s *Server) Do(args ...string) string {
	s.t.Helper()
	reply, err := s.do(args...)
	if err != nil {
		s.t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return reply
}

// IsMaster reports whether this server says that it is one; it may be away, or change its mind.
func (s *Server) IsMaster() bool {
	reply, err := s.do("ROLE")
	return err == nil && strings.Contains(reply, "master")
}

// Promote makes a replica of a cluster a master, in order.
func (s *Server) Promote() {
	s.t.Helper()
	var asked time.Time
	s.until("a replica is a master", func() bool {
		if time.Since(asked) > 6*time.Second { // it gives up after 5
			s.Do("CLUSTER", "FAILOVER")
			asked = time.Now()
		}
		return s.IsMaster()
	})
}

func (s *Server) do(args ...string) (string, error) { return ask("unix", s.socket(), args...) }

// StartReplica starts one of a master, and waits until it has what that has. It ends with the test.
func StartReplica(t testing.TB, master *Server) *Server {
	t.Helper()
	s := Start(t, "--replicaof", "127.0.0.1", master.port)
	s.inStep()
	return s
}

func (s *Server) inStep() {
	s.t.Helper()
	s.until("a replica is in step", func() bool {
		return strings.Contains(s.Do("INFO", "replication"), "master_link_status:up")
	})
}

func (s *Server) argument(name string) string {
	for i, arg := range s.args {
		if arg == name {
			return s.args[i+1]
		}
	}
	return ""
}

func (s *Server) until(what string, condition func() bool) {
	s.t.Helper()
	testenv.Eventually(s.t, what, condition)
}

// SentinelSet is the name under which a sentinel knows its master.
const SentinelSet = "m"

// StartSentinel has one look after a master, and returns its host and port. It ends with the test.
func StartSentinel(t testing.TB, master *Server) string {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir(), port: testenv.HeldPort(t)}
	conf := filepath.Join(s.dir, "sentinel.conf")
	text := "bind 127.0.0.1\nport " + s.port + "\ndir " + s.dir + "\n" +
		"sentinel monitor " + SentinelSet + " 127.0.0.1 " + master.port + " 1\n" +
		"sentinel down-after-milliseconds " + SentinelSet + " 1000\nsentinel failover-timeout " + SentinelSet + " 5000\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("redis-server", conf, "--sentinel")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s.until("the sentinel answers", func() bool {
		_, err := ask("tcp", s.Addr(), "PING")
		return err == nil
	})
	return s.Addr()
}
