package table

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"contend/systems/uplink/lorawan"
)

const (
	// defaultFile is the database if no other is named.
	defaultFile = "contend.db"
	// writeTimeout bounds a transaction: a database that does not answer counts as
	// unavailable.
	writeTimeout = 10 * time.Second
	// readTimeout bounds reading which devices a customer has.
	readTimeout = 10 * time.Minute
)

// A database is PostgreSQL or SQLite. The statements are the same for both, except
// for what the methods here write.
type database struct {
	*sql.DB
	postgres  *pgx.ConnConfig // nil: SQLite
	listening *pgx.ConnConfig // of the connection that hears of changes
	timeout   time.Duration   // of a transaction, or of reading a few rows again
	silence   time.Duration   // that ends a reload
	outages   atomic.Int64    // how often the database was not available
	full      atomic.Bool     // its disk was, at the last transaction
	file      string          // of SQLite; "": in memory, or PostgreSQL
	turn      Turn            // of transactions on a file; nil: any number goes on
	claim     *claim          // to the file; nil: none yet
}

func openDatabase(address string) (*database, error) {
	scheme, path, _ := strings.Cut(address, ":")
	switch scheme {
	case "postgres", "postgresql":
		config, err := postgresConfig(address)
		if err != nil {
			return nil, err
		}
		return openPostgres(config), nil
	case "":
		return openSQLite(defaultFile)
	case "sqlite":
		if path != "" {
			return openSQLite(path)
		}
	}
	return nil, fmt.Errorf("database URL %.60q is invalid; expected sqlite:PATH, sqlite::memory: or postgres://…", address)
}

func openSQLite(path string) (*database, error) {
	// A statement waits a second, in milliseconds, for another process, such as a
	// backup; a transaction tries several times.
	const pragmas = "_pragma=busy_timeout(1000)&_pragma=foreign_keys(1)&_txlock=immediate"
	if path == ":memory:" {
		db, err := sql.Open("sqlite", "file::memory:?"+pragmas)
		if err != nil {
			return nil, fmt.Errorf("table: %w", err)
		}
		db.SetMaxOpenConns(1) // each connection has a memory of its own
		return &database{DB: db, timeout: writeTimeout, silence: readSilence}, nil
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}
	db, err := sql.Open("sqlite", fileURL(full)+"?"+pragmas+"&_pragma=journal_mode(wal)")
	if err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}
	return &database{DB: db, timeout: writeTimeout, silence: readSilence, file: full, turn: make(Turn, 1)}, nil
}

// fileURL is how SQLite takes the absolute path of a file, whatever characters it has.
func fileURL(path string) string {
	file := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(path), "/")}
	return file.String()
}

func (db *database) close() error {
	if err := errors.Join(db.Close(), db.claim.release()); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	return nil
}

// set is the numbers of a list that is the parameter: any number of them are one
// parameter of one statement.
func (db *database) set(parameter string) string {
	if db.postgres != nil {
		return "(SELECT CAST(value AS BIGINT) FROM json_array_elements_text(CAST(" + parameter + " AS JSON)))"
	}
	return "(SELECT value FROM json_each(" + parameter + "))"
}

// values is a table whose column value has the elements of a list of lists that is the
// parameter.
func (db *database) values(parameter string) string {
	if db.postgres != nil {
		return "json_array_elements(CAST(" + parameter + " AS JSON))"
	}
	return "json_each(" + parameter + ")"
}

// list is the parameter for set.
func list[T lorawan.EUI | lorawan.DevAddr](values []T) string {
	numbers := make([]int64, len(values))
	for i, v := range values {
		numbers[i] = int64(v)
	}
	text, _ := json.Marshal(numbers) // which always can be
	return string(text)
}

// signed is how an EUI is stored.
func signed(e lorawan.EUI) int64 { return int64(e) }

func orNull[T lorawan.EUI | lorawan.DevAddr](v *T) *int64 {
	if v == nil {
		return nil
	}
	return new(int64(*v))
}

// transaction runs do in a transaction, again if that may help: do must start anew
// each time. Once begun it does not end with ctx, so that a caller who leaves does
// not make the outcome unknown.
func (db *database) transaction(ctx context.Context, do func(context.Context, *sql.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), db.timeout)
	defer cancel()
	// Left alone, SQLite has each transaction look again and again whether the file is free, and some never find it so.
	err := db.noted(db.explained(ctx, db.turn.Take(ctx, func() error { return db.attempt(ctx, do) })))
	db.full.Store(errors.Is(err, ErrFull))
	return err
}

// noted classifies an error. After an outage no connection from before is tried.
func (db *database) noted(err error) error {
	err = classified(err)
	if errors.Is(err, ErrUnavailable) {
		db.outages.Add(1)
	}
	return err
}

func (db *database) attempt(ctx context.Context, do func(context.Context, *sql.Tx) error) error {
	var err error
	for wait := 10 * time.Millisecond; wait < time.Second; wait *= 3 {
		if err = db.try(ctx, do); !retryable(err) {
			break
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return err
}

func (db *database) try(ctx context.Context, do func(context.Context, *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(ctx, tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	return tx.Commit()
}

// ignoreDone: a transaction whose connection broke has ended.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// columns are what scan reads.
const columns = "dev_eui, customer, join_eui, active, target, details, created, suspended, trust, proven"

// A queryer is a *sql.DB or a *sql.Tx.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// query returns what scan makes of each row.
func query[T any](ctx context.Context, q queryer, scan func(*sql.Rows) (T, error), statement string, args ...any) (list []T, err error) {
	rows, err := q.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

func scan(rows *sql.Rows) (e entry, err error) {
	var eui, suspended int64
	var join, active, target, proven sql.NullInt64
	var details sql.NullString
	err = rows.Scan(&eui, &e.Customer, &join, &active, &target, &details, &e.Created, &suspended, &e.trust, &proven)
	e.DevEUI, e.Suspended = lorawan.EUI(eui), suspended != 0
	e.JoinEUI, e.HasJoin = lorawan.EUI(join.Int64), join.Valid
	e.Active, e.HasActive = lorawan.DevAddr(active.Int64), active.Valid
	e.Target, e.HasTarget = lorawan.DevAddr(target.Int64), target.Valid
	e.Proven, e.HasProven = lorawan.DevAddr(proven.Int64), proven.Valid
	if details.Valid {
		e.details = &details.String
	}
	return e, err
}

// devicesOf returns the DevEUIs of a customer.
func (db *database) devicesOf(ctx context.Context, c Customer) (euis []lorawan.EUI, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	euis, err = query(ctx, db, func(rows *sql.Rows) (eui lorawan.EUI, err error) {
		var n int64
		err = rows.Scan(&n)
		return lorawan.EUI(n), err
	}, "SELECT dev_eui FROM devices WHERE customer = $1", string(c))
	return euis, classified(err)
}
