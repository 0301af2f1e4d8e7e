// Package table is the routing table: which device, and which address, belongs to
// which customer.
//
// The rows are kept in a database, PostgreSQL or an embedded SQLite, and all of them
// in memory as well. Look-ups never ask the database: routing goes on while it is
// away. Writes go to the database first and show in memory when they are committed;
// without the database they fail with ErrUnavailable.
//
// Several instances may share a PostgreSQL. Each notifies the others of its changes, and
// they read those again; after an interruption they read everything again. SQLite is for
// one instance only, as it has no notifications: an open table locks its file.
//
// Locks are taken in this order: turns, groups.mu, index.
package table

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"contend/systems/uplink/lorawan"
)

// What a write may fail with, to be tested with errors.Is. Any other error is that
// of the context while the write waited for its turn, or a defect.
var (
	// ErrInvalid: a value that cannot be stored; the text names it.
	ErrInvalid = errors.New("invalid")
	// ErrDeviceExists: the DevEUI is taken, perhaps by another customer.
	ErrDeviceExists = errors.New("device exists")
	// ErrDeviceLimit: the customer has as many devices as it may have.
	ErrDeviceLimit = errors.New("device limit reached")
	// ErrDeviceNotFound: this customer has no such device.
	ErrDeviceNotFound = errors.New("device not found")
	// ErrGroupExists: the customer has a group with this address.
	ErrGroupExists = errors.New("multicast group exists")
	// ErrGroupNotFound: the customer has no group with this address.
	ErrGroupNotFound = errors.New("multicast group not found")
	// ErrGroupContains: the device is in the group.
	ErrGroupContains = errors.New("multicast group contains the device")
	// ErrUnavailable: the database cannot be reached, did not answer in time, takes no
	// writes, or has a schema that is too new. The write may have happened once, or not;
	// memory follows the database once it is back.
	ErrUnavailable = errors.New("database unavailable")
	// ErrFull, an ErrUnavailable: the disk of the database is full, and nothing was written.
	ErrFull = fmt.Errorf("%w: its disk is full", ErrUnavailable)
)

// ErrDeaf: notifications through the database of Config.URL are not heard, as a
// pooler of transactions drops them, or Config.Listen is another database.
var ErrDeaf = errors.New("changes of the table are not heard")

// A Customer owns devices and multicast groups. It is UTF-8 without zero bytes, of 1
// to 255 bytes.
type Customer string

// A Row is what routing knows of a device.
type Row struct {
	Customer                      Customer
	DevEUI, JoinEUI               lorawan.EUI
	Active, Target                lorawan.DevAddr
	HasJoin, HasActive, HasTarget bool
	Suspended                     bool // nothing is delivered
	// Proven is the address with which the device last solved a challenge. Its customer
	// may give it any other one, at which it has proved nothing.
	Proven    lorawan.DevAddr
	HasProven bool
	// Created is when the row was inserted, in µs since the epoch. It tells the row
	// from earlier ones of its device, which have been dropped.
	Created int64
}

// Joins reports whether a join request for this device with a JoinEUI is the customer's:
// customers that cannot know their device's JoinEUI give its DevEUI instead.
func (r *Row) Joins(join lorawan.EUI) bool {
	return r.HasJoin && (r.JoinEUI == join || r.JoinEUI == r.DevEUI)
}

// ProvenAt reports whether the device solved a challenge with this address.
func (r *Row) ProvenAt(addr lorawan.DevAddr) bool { return r.HasProven && r.Proven == addr }

// Config is how to open a table.
type Config struct {
	// URL is "postgres://…" (or "postgresql://…"), "sqlite:PATH" or
	// "sqlite::memory:". Empty: the file contend.db in the working directory.
	URL string `flag:"db" words:"*URL* of the routing table: postgres://…, sqlite:FILE or sqlite::memory:; none: the file contend.db"`
	// Listen is the URL of the connection to PostgreSQL that hears of other instances'
	// changes, which must not lead over a pooler of transactions. Empty: URL.
	Listen string `flag:"db-listen" words:"*URL* of the same PostgreSQL without the pooler, to hear of changes; none: that of --db"`
	// DeviceLimit is how many devices a customer may have; 0: any number. Inserts by
	// several instances at the same moment may exceed it.
	DeviceLimit int          `flag:"device-limit" min:"0" max:"2147483647" words:"*number* of devices that a customer may have; 0: any"`
	Log         *slog.Logger // nil: none
}

// A Table is an open routing table. All methods may be called concurrently.
type Table struct {
	config   Config
	db       *database
	index    *index
	groups   *groups
	turns    *turns
	instance string // names this one in changes
	changes  *changes
	deaf     atomic.Bool // changes of other instances are not heard
	// doubtUntil is when the outcome of all writes is known, in µs since the epoch.
	doubtUntil atomic.Int64
	stop       func() // ends the goroutines and waits for them
}

// Open connects to the database, brings its schema up to date and reads it all.
// Several instances may do so at once with PostgreSQL; it fails where another table has
// the file of SQLite. The context bounds the opening only.
func Open(ctx context.Context, c Config) (*Table, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	db, err := openDatabase(c.URL)
	if err != nil {
		return nil, err
	}
	t := &Table{
		config: c, db: db, index: newIndex(), groups: newGroups(), turns: newTurns(),
		instance: rand.Text(), changes: newChanges(),
	}
	if err := t.start(ctx); err != nil {
		db.close()
		return nil, err
	}
	return t, nil
}

// Close ends the goroutines and closes the database.
func (t *Table) Close() error {
	t.stop()
	return t.db.close()
}

// Shared reports whether other instances may use the table: then each tells the others
// what it changes.
func (t *Table) Shared() bool { return t.db.postgres != nil }

// Hears reports whether other instances' changes are heard. Where they are not, as since the
// connection broke that hears of them, the table is as it was before these; when they are
// again, all is read again.
func (t *Table) Hears() bool { return !t.deaf.Load() }

// Ping reports whether the database answers before ctx ends, and takes writes: nil,
// ErrFull where the last write failed for that, or ErrUnavailable.
func (t *Table) Ping(ctx context.Context) error {
	if t.db.full.Load() {
		return ErrFull
	}
	if t.db.postgres == nil {
		return classified(t.db.PingContext(ctx))
	}
	return t.db.writable(ctx, isReadOnly)
}

// ByDevEUI returns the row of a device. It does not allocate.
func (t *Table) ByDevEUI(eui lorawan.EUI) (Row, bool) { return t.index.byDevEUI(eui) }

// ByAddr appends the rows whose active or target address is addr, of all customers,
// each once, in no particular order.
func (t *Table) ByAddr(dst []Row, addr lorawan.DevAddr) []Row {
	return t.index.appendByAddr(dst, addr)
}

// Warm makes the following ByAddr of these addresses fast. Among millions of devices
// a look-up waits for main memory twice, one after the other; here the processor
// waits for many addresses at a time. A few hundred fit into its cache.
func (t *Table) Warm(addrs []lorawan.DevAddr) { t.index.warm(addrs) }

// now is the moment a row is created: the database and the API keep microseconds.
func now() int64 { return time.Now().UnixMicro() }

func timeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }
