package table

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/table/tabletest"
)

// Instances whose connections a pooler shares write, and know of each other, even
// after the server of the pooler was restarted. A pooler of transactions needs another
// way for notifications.
func TestPooler(t *testing.T) {
	t.Parallel()
	pg := tabletest.Start(t)
	var both []*pooled
	for _, mode := range []string{"session", "transaction"} {
		p := &pooled{mode: mode, url: pg.Fresh(t)}
		fill(t, p.url, "a", 100)
		p.config.URL = strings.Replace(p.url, pg.Host(), pg.Pooler(t, mode).Host(), 1)
		if mode == "transaction" {
			p.config.Listen = p.url
		}
		p.one, p.other = open(t, p.config), open(t, p.config)
		both = append(both, p)
	}
	for _, p := range both {
		p.write(t, 1000)
		eventually(t, p.mode+": both know what was written", func() bool { return p.one.Len() == 164 && same(p.one, p.other, "a") })
	}
	pg.Stop(t)
	var writing sync.WaitGroup
	for _, p := range both {
		writing.Go(func() {
			if err := p.one.Suspend(t.Context(), 1, 1); !errors.Is(err, ErrUnavailable) {
				t.Errorf("%s: a write without a server: %v", p.mode, err)
			}
		})
	}
	writing.Wait()
	pg.Restart(t)
	for _, p := range both {
		dropMeanwhile(t, p.url, "a", 1, 2, 3)
		eventually(t, p.mode+": writes succeed again", func() bool {
			return errors.Join(p.one.Suspend(t.Context(), 11, 11), p.other.Suspend(t.Context(), 11, 11)) == nil
		})
		p.write(t, 2000)
		fresh := open(t, p.config)
		eventually(t, p.mode+": both know what happened meanwhile", func() bool {
			return fresh.Len() == 100-3+2*64 && same(p.one, fresh, "a") && same(p.other, fresh, "a")
		})
	}
}

// A pooled is two instances with a pooler.
type pooled struct {
	mode, url  string // url leads past the pooler
	config     Config
	one, other *Table
}

// write has 8 writers insert 8 devices each and add them to a group, over both instances.
func (p *pooled) write(t testing.TB, first lorawan.EUI) {
	t.Helper()
	group := lorawan.DevAddr(first)
	if err := create(p.one, "a", group, "group"); err != nil {
		t.Error(err)
	}
	var writers sync.WaitGroup
	for w := range lorawan.EUI(8) {
		writers.Go(func() {
			for i := range lorawan.EUI(8) {
				table, eui := p.one, first+8*w+i
				if (w+i)%2 > 0 {
					table = p.other
				}
				_, err := table.Insert(t.Context(), "a", NewDevice{DevEUI: eui, JoinEUI: ptr(high), Details: ptr("é")})
				if err := errors.Join(err, table.AddToGroup(t.Context(), "a", group, eui)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
}

// Nobody begins without hearing of changes.
func TestDeafFromTheStart(t *testing.T) {
	t.Parallel()
	pg := postgres(t)
	url := pg.Fresh(t)
	pooled := strings.Replace(url, pg.Host(), pg.Pooler(t, "transaction").Host(), 1)
	var opening sync.WaitGroup
	defer opening.Wait()
	for name, c := range map[string]Config{
		"over a pooler of transactions": {URL: pooled},
		"of another database":           {URL: url, Listen: pg.Fresh(t)},
	} {
		opening.Go(func() { // not a subtest, which would wait for its turn: each takes 10 s
			if _, err := Open(t.Context(), c); !errors.Is(err, ErrDeaf) || errors.Is(err, ErrUnavailable) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	for _, c := range []Config{{URL: "sqlite::memory:", Listen: url}, {URL: url, Listen: "sqlite::memory:"}} {
		if _, err := Open(t.Context(), c); err == nil || errors.Is(err, ErrUnavailable) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// What a URL leaves open.
func TestConnectionDefaults(t *testing.T) {
	for _, test := range []struct {
		url     string
		timeout time.Duration // of each server: all of them have half of a write's time
		mode    pgx.QueryExecMode
	}{
		{"postgres://a/db", 5 * time.Second, pgx.QueryExecModeCacheDescribe},
		{"postgres://a:1,b:2/db", 2500 * time.Millisecond, pgx.QueryExecModeCacheDescribe},
		{"postgres://a:1,a:2,b:1,c:1,d:1/db?sslmode=prefer", time.Second, pgx.QueryExecModeCacheDescribe},
		{"postgres://a:1,b:2/db?connect_timeout=7&target_session_attrs=any", 7 * time.Second, pgx.QueryExecModeCacheDescribe},
		{"postgres://a/db?default_query_exec_mode=simple_protocol", 5 * time.Second, pgx.QueryExecModeSimpleProtocol},
	} {
		config, err := postgresConfig(test.url)
		if err != nil {
			t.Fatal(err)
		}
		if config.ConnectTimeout != test.timeout || config.DefaultQueryExecMode != test.mode || config.ValidateConnect == nil {
			t.Errorf("%s: %v, %v", test.url, config.ConnectTimeout, config.DefaultQueryExecMode)
		}
	}
}
