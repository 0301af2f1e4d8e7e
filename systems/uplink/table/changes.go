package table

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"contend/systems/uplink/lorawan"
)

// A groupKey names a multicast group.
type groupKey struct {
	customer Customer
	addr     lorawan.DevAddr
}

// A change says what is to be read again.
type change struct {
	everything bool
	euis       []lorawan.EUI
	groups     []groupKey
}

// changes collects what is to be read again.
type changes struct {
	signal chan struct{} // holds a token when there is something

	mu         sync.Mutex
	everything bool
	euis       map[lorawan.EUI]struct{}
	groups     map[groupKey]struct{}
}

// maxChanges bounds the devices and groups to be read again; beyond it, everything is.
const maxChanges = 100_000

func newChanges() *changes {
	return &changes{
		signal: make(chan struct{}, 1),
		euis:   map[lorawan.EUI]struct{}{}, groups: map[groupKey]struct{}{},
	}
}

func (c *changes) add(more change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, eui := range more.euis {
		c.euis[eui] = struct{}{}
	}
	for _, key := range more.groups {
		c.groups[key] = struct{}{}
	}
	if more.everything || len(c.euis)+len(c.groups) > maxChanges {
		c.everything = true
		clear(c.euis)
		clear(c.groups)
	}
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

// take returns what was collected.
func (c *changes) take() change {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := change{c.everything, slices.Collect(maps.Keys(c.euis)), slices.Collect(maps.Keys(c.groups))}
	c.everything = false
	clear(c.euis)
	clear(c.groups)
	return taken
}

// channel is what PostgreSQL's instances listen to. The payload is a text of below
// 8000 bytes (PostgreSQL, NOTIFY): who wrote, "d" and DevEUIs or "g" and the address
// and customer of a group.
const channel = "contend_table"

// namesPerText keeps a text below the limit: 17 bytes each.
const namesPerText = 400

func (t *Table) devicesChanged(rows []entry) (texts []string) {
	for chunk := range slices.Chunk(rows, namesPerText) {
		text := t.instance + " d "
		for i := range chunk {
			text += chunk[i].DevEUI.String() + ","
		}
		texts = append(texts, strings.TrimSuffix(text, ","))
	}
	return texts
}

func (t *Table) groupChanged(key groupKey) string {
	return fmt.Sprintf("%s g %v %s", t.instance, key.addr, key.customer)
}

// doubtFor is how long after a write of unknown outcome the instance listens to
// itself: a commit may hang, in a replica or a disk, for longer than we wait.
const doubtFor = time.Hour

// doubt has read again what was, perhaps, written: now, and when the database tells.
func (t *Table) doubt(c change) {
	t.doubtUntil.Store(now() + doubtFor.Microseconds())
	t.changes.add(c)
}

// heard takes what an instance told. The rows that it names are read again in the
// background. A text that makes no sense counts as a change of everything.
func (t *Table) heard(text string) {
	writer, text, _ := strings.Cut(text, " ")
	if writer == t.instance && now() > t.doubtUntil.Load() {
		return
	}
	c, err := parseChange(text)
	if err != nil {
		t.config.Log.Warn("a change that makes no sense: all rows are read again", "change", text, "error", err)
		c = change{everything: true}
	}
	t.changes.add(c)
}

func parseChange(text string) (c change, err error) {
	kind, text, _ := strings.Cut(text, " ")
	switch kind {
	case "d":
		for name := range strings.SplitSeq(text, ",") {
			eui, err := lorawan.ParseEUI(name)
			if err != nil {
				return change{}, err
			}
			c.euis = append(c.euis, eui)
		}
		return c, nil
	case "g":
		name, owner, _ := strings.Cut(text, " ")
		addr, err := lorawan.ParseDevAddr(name)
		c.groups = []groupKey{{Customer(owner), addr}}
		return c, err
	}
	return change{}, fmt.Errorf("table: change %.20q is neither d nor g", kind)
}

// tell tells PostgreSQL's other instances, once the transaction is committed.
func (t *Table) tell(ctx context.Context, tx *sql.Tx, texts []string) error {
	if t.db.postgres == nil {
		return nil
	}
	for _, text := range texts {
		if _, err := tx.ExecContext(ctx, "SELECT pg_notify($1, $2)", channel, text); err != nil {
			return err
		}
	}
	return nil
}
