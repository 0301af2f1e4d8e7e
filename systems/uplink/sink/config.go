// Package sink is the load sink of the uplink experiment: a customer that takes
// uplinks from the router over one WebSocket, solves their MIC challenge,
// decrypts and answers them, and keeps an exact account of what arrived and how
// long it took.
//
// The response time of an uplink lasts from the time stamp in its payload until the bytes
// arrive, so it excludes solving the challenge. Generator and sink must run on one machine,
// with one clock. The stamp is the creation of the uplink or, at a rate, when it was due;
// then the service time begins when it was sent.
//
// All uplinks of one read have one time of arrival. They are answered before the next
// read, so a busy sink delays arrivals by about a millisecond.
package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"contend/pace"
	"contend/setting"
)

// A Config says from where and how uplinks are taken. URL must be set.
type Config struct {
	// URL is that of the upstream, ws or wss, as ws://127.0.0.1:8080/api/v1/stream/upstream/.
	URL string `flag:"url" default:"ws://127.0.0.1:8080/api/v1/stream/upstream/" words:"*URL* of the upstream"`
	// Token goes into the header Authorization and the query parameter access_token.
	Token string `flag:"token" words:"*token* of the customer (default that of the demo)"`
	// Dial, if set, makes the connections.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Devices and Seed are the generator's; Devices 0 means 1.
	Devices int    `flag:"devices" default:"1" min:"0" max:"16777216" words:"*number* of the generator's devices"`
	Seed    uint64 `flag:"seed" default:"1" words:"seed of the generator"`
	// Expect is how many different uplinks there will be; 0: not known.
	Expect int64 `flag:"expect" min:"0" max:"1099511627776" words:"*number* of uplinks that will come; 0: not known"`
	// Pacer is what the generator keeps to, for the result; nil: no rate.
	Pacer *pace.Pacer

	// NoAck leaves all messages unanswered.
	NoAck bool `flag:"no-ack" words:"answer nothing"`
	// Pool is how many messages may be in processing, that is received and not
	// answered, at once; 0 means 10 000, as in the published runs.
	Pool int `flag:"pool,p" default:"10000" min:"0" max:"1048576" words:"*number* of messages in processing at once"`
	// Idle ends the run when nothing has come for so long, connected or not; 0
	// means one minute.
	Idle time.Duration `flag:"idle" default:"1m" min:"0s" max:"24h" words:"*time* without anything after which it ends"`
	// FirstRetry is how long to wait before a lost connection is made again, at
	// first; 0: at once as long as the bridges wait, that is 5 s, and then 10, 20
	// and 30 s as long as connections live under 5 s.
	FirstRetry time.Duration `json:"first retry" min:"0s" max:"24h"`

	// Notice, if set, gets the lines of the published form that come before the
	// summary, while the run goes on.
	Notice func(line string)
}

// Validate returns every mistake at once.
func (c *Config) Validate() error {
	err := setting.Check(c)
	if u, wrong := url.Parse(c.URL); wrong != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" {
		err = errors.Join(err, setting.At(c, &c.URL).OutOf(c.URL, "ws://HOST/PATH, wss://HOST/PATH"))
	}
	if err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	return nil
}

// withDefaults returns the configuration with its zero values replaced.
func (c Config) withDefaults() Config {
	var defaults Config
	setting.Defaults(&defaults)
	c.Devices, c.Pool, c.Idle = cmp.Or(c.Devices, defaults.Devices), cmp.Or(c.Pool, defaults.Pool), cmp.Or(c.Idle, defaults.Idle)
	if c.Notice == nil {
		c.Notice = func(string) {}
	}
	return c
}
