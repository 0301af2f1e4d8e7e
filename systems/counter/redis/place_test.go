package redis

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"contend/internal/redisserver"
	"contend/internal/redisserver/redistest"
	"contend/internal/testenv"
)

// counts adds 1 to what was.
func counts(t *testing.T, c *Counter, was int64) {
	t.Helper()
	if value, err := c.Add(t.Context(), 1); err != nil || value != was+1 {
		t.Errorf("%d, %v, want %d", value, err, was+1)
	}
}

// TestTLSAndAccessList uses a user who may do what the package comment says, and no
// more.
func TestTLSAndAccessList(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	own := testenv.NewCertificate("127.0.0.1")
	cert, key := own.Write(t)
	roots := x509.NewCertPool()
	roots.AddCert(own.Leaf)
	port := testenv.HeldPort(t)
	user := "--user counting on >secret resetkeys ~{contend:counter}* nocommands " +
		"+evalsha +eval +get +set +hget +hset +hincrby +time +exists +watch +unwatch +multi +exec"
	r := redistest.Start(t, append([]string{"--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key,
		"--tls-ca-cert-file", cert, "--tls-auth-clients", "no"}, strings.Fields(user)...)...)
	url := "rediss://127.0.0.1:" + port
	was := int64(0)
	each(t, func(t *testing.T, design string) {
		c := open(t, Config{Design: design, Server: at(t, redisserver.Config{
			URL: url, Username: "counting", Password: "secret", TLS: &tls.Config{RootCAs: roots}})})
		counts(t, c, was)
		if _, err := c.Increment(t.Context(), 1, "id"+design); err != nil {
			t.Error(err)
		}
		was += 2
		if err := c.Ready(); err != nil {
			t.Error(err)
		}
	})
	for name, cfg := range map[string]redisserver.Config{
		"a wrong password":      {URL: url, Username: "counting", Password: "wrong", TLS: &tls.Config{RootCAs: roots}},
		"an unknown authority":  {URL: url, Username: "counting", Password: "secret"},
		"no TLS at a TLS port":  {URL: strings.Replace(url, "rediss", "redis", 1)},
		"TLS at another's port": {URL: strings.Replace(r.TCP(), "redis", "rediss", 1), TLS: &tls.Config{RootCAs: roots}},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, Config{Design: "redis-script", Server: at(t, cfg), Timeout: 2 * quick})
			_, err := c.Add(t.Context(), 1)
			if !errors.Is(err, ErrUnavailable) || !errors.Is(c.Ready(), ErrUnavailable) {
				t.Errorf("%v, want %v", err, ErrUnavailable)
			}
			if strings.Contains(fmt.Sprint(err, c.Ready()), "secret") {
				t.Errorf("%v tells the password", err)
			}
		})
	}
}

// TestCluster moves the counter from node to node under the feet of its callers.
func TestCluster(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 2, false).Masters
	server := at(t, redisserver.Config{URL: nodes[0].TCP()})
	each(t, func(t *testing.T, design string) {
		c := open(t, Config{Server: server, Design: design, Key: design})
		counts(t, c, 0)
		slot := nodes[0].Do("CLUSTER", "KEYSLOT", c.key)
		n, _ := strconv.Atoi(slot)
		from, to := nodes[n*2/16384], nodes[1-n*2/16384]
		id := to.Do("CLUSTER", "MYID")
		to.Do("CLUSTER", "SETSLOT", slot, "IMPORTING", from.Do("CLUSTER", "MYID"))
		from.Do("CLUSTER", "SETSLOT", slot, "MIGRATING", id)
		counts(t, c, 1) // it is still there
		host, port, _ := net.SplitHostPort(to.Addr())
		from.Do("MIGRATE", host, port, c.key, "0", "10000")
		if design != "redis-naive" { // it has no connection that follows ASK
			counts(t, c, 2)
		} else if _, err := c.Add(t.Context(), 1); !errors.Is(err, ErrUnavailable) {
			t.Errorf("on its way: %v, want %v", err, ErrUnavailable)
		} else {
			from.Do("CLUSTER", "SETSLOT", slot, "STABLE")
		}
		to.Do("CLUSTER", "SETSLOT", slot, "NODE", id)
		from.Do("CLUSTER", "SETSLOT", slot, "NODE", id)
		testenv.Eventually(t, "it works at its new place", func() bool {
			_, err := c.Add(t.Context(), 1)
			if err != nil && !errors.Is(err, ErrUnavailable) {
				t.Fatal(err)
			}
			return err == nil
		})
		value, err := c.Load(t.Context())
		if want := int64(c.Stats().Increments); err != nil || value != want {
			t.Errorf("Load = %d, %v, want %d", value, err, want)
		}
		if change, err := c.Increment(t.Context(), 1, "id"); err != nil || change.Value != value+1 {
			t.Errorf("with an id: %+v, %v, want %d", change, err, value+1)
		}
	})
}

// TestSentinel: when the master dies, the counter goes on at the replica that takes
// its place.
func TestSentinel(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	replica := redistest.StartReplica(t, master)
	sentinel := redistest.StartSentinel(t, master)
	server := at(t, redisserver.Config{URL: "redis://" + sentinel + "?master_set=" + redistest.SentinelSet})
	var counters []*Counter
	each(t, func(t *testing.T, design string) {
		c, err := Open(Config{Server: server, Design: design, Key: design, Timeout: patience})
		if err != nil {
			t.Fatal(err)
		}
		counters = append(counters, c)
		counts(t, c, 0)
	})
	t.Cleanup(func() {
		for _, c := range counters {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	copyOf := at(t, redisserver.Config{URL: replica.URL()})
	testenv.Eventually(t, "the replica has it all", func() bool {
		all := true
		for _, c := range counters {
			value, err := raw(t, copyOf, "HGET", c.key, fieldCounter).AsInt64()
			all = all && err == nil && value == 1
		}
		return all
	})
	testenv.Eventually(t, "the sentinel knows the replica", func() bool {
		found, err := raw(t, at(t, redisserver.Config{URL: "redis://" + sentinel}), "SENTINEL", "REPLICAS", redistest.SentinelSet).ToArray()
		return err == nil && len(found) == 1
	})
	master.Kill()
	for _, c := range counters {
		testenv.Eventually(t, "the replica counts", func() bool {
			_, err := c.Add(t.Context(), 1)
			return err == nil
		})
		if value, err := c.Load(t.Context()); err != nil || value < 2 {
			t.Errorf("Load = %d, %v, want at least 2", value, err)
		}
		testenv.Eventually(t, "it is ready", func() bool { return c.Ready() == nil })
	}
}
