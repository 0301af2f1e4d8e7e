// Package sink is the load sink of the uplink experiment: a customer that takes
// uplinks from the router over one WebSocket, solves their MIC challenge,
// decrypts and answers them, and keeps an exact account of what arrived and how
// long it took.
//
// The response time of an uplink is from the time stamp in its payload to the
// reception of the bytes, so solving the challenge is outside of it, and the
// generator must have the same clock, that is run on the same machine. The stamp
// is the creation of the uplink or, if the generator keeps a rate, the moment for
// which it was planned; then the service time is from the actual sending.
//
// What one read brings has one time of reception. It is answered before the next
// read, so a busy sink delays receptions, by about a millisecond.
package sink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"contend/internal/uplink/lorawan"
	"contend/pace"
)

// A Config says from where and how uplinks are taken. URL must be set.
type Config struct {
	// URL is that of the upstream, ws or wss, as ws://127.0.0.1:8080/api/v1/stream/upstream/.
	URL string
	// Token goes into the header Authorization and the query parameter access_token.
	Token string
	// TLS configures wss; nil is the default.
	TLS *tls.Config
	// Dial, if set, makes the connections.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Seed and Devices are the generator's; Devices 0 means 1.
	Seed    uint64
	Devices int
	// Expect is how many different uplinks there will be; 0: not known.
	Expect int64
	// Pacer is what the generator keeps to, for the result; nil: no rate.
	Pacer *pace.Pacer

	// NoAck leaves all messages unanswered.
	NoAck bool
	// Pool is how many messages may be in processing, that is received and not
	// answered, at once; 0 means DefaultPool.
	Pool int
	// Idle ends the run when nothing has come for so long, connected or not; 0
	// means DefaultIdle.
	Idle time.Duration
	// FirstRetry is how long to wait before a lost connection is made again, at
	// first; 0: at once as long as the bridges wait, that is 5 s, and then 10, 20
	// and 30 s as long as connections live under 5 s.
	FirstRetry time.Duration

	// Notice, if set, gets the lines of the published form that come before the
	// summary, while the run goes on.
	Notice func(line string)
}

// The defaults of a Config. The pool's size is that of the published runs.
const (
	DefaultPool = 10_000
	DefaultIdle = time.Minute
)

// Validate returns every mistake at once.
func (c *Config) Validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("sink: "+format, args...)) }
	if u, err := url.Parse(c.URL); err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" {
		wrong("url is %q; allowed: ws://HOST/PATH, wss://HOST/PATH", c.URL)
	}
	for _, f := range []struct {
		name     string
		value    int64
		lo, hi   int64
		zeroText string
	}{
		{"devices", int64(c.Devices), 0, lorawan.MaxDemoDevices, "1"},
		{"expect", c.Expect, 0, 1 << 40, "not known"},
		{"pool", int64(c.Pool), 0, 1 << 20, fmt.Sprint(DefaultPool)},
	} {
		if f.value < f.lo || f.value > f.hi {
			wrong("%s is %d; allowed: %d (%s) to %d", f.name, f.value, f.lo, f.zeroText, f.hi)
		}
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"idle", c.Idle}, {"first retry", c.FirstRetry}} {
		if f.value < 0 || f.value > 24*time.Hour {
			wrong("%s is %v; allowed: 0 to 24h", f.name, f.value)
		}
	}
	return errors.Join(errs...)
}

// withDefaults returns the configuration with its zero values replaced.
func (c Config) withDefaults() Config {
	if c.Devices == 0 {
		c.Devices = 1
	}
	if c.Pool == 0 {
		c.Pool = DefaultPool
	}
	if c.Idle == 0 {
		c.Idle = DefaultIdle
	}
	if c.Notice == nil {
		c.Notice = func(string) {}
	}
	return c
}
