package table

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// retryable reports whether a transaction may succeed if it is simply tried again: another
// one was in the way.
func retryable(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		// 40: deadlock or serialization; 23: what was there or missing at the check
		// has changed (PostgreSQL, appendix A). After 40003 it may have succeeded.
		return pg.Code[:2] == "40" && pg.Code != "40003" || pg.Code[:2] == "23"
	}
	var lite *sqlite.Error
	return errors.As(err, &lite) && primary(lite) == sqliteBusy
}

// Result codes of SQLite (sqlite.org/rescode.html).
const (
	sqliteError      = 1
	sqliteBusy       = 5
	sqliteFull       = 13
	sqliteConstraint = 19
	sqliteMismatch   = 20
	sqliteMisuse     = 21
)

// primary is the result code without its extension.
func primary(err *sqlite.Error) int { return err.Code() & 0xff }

// classified tells a database that is not available from a statement that it
// refuses, which is a defect. What a write may fail with otherwise stays as it is.
func classified(err error) error {
	own := []error{nil, ErrDeviceNotFound, ErrGroupExists, ErrGroupNotFound, ErrGroupContains,
		ErrUnavailable, ErrDeaf, errSchema}
	if slices.ContainsFunc(own, func(e error) bool { return errors.Is(err, e) }) {
		return err
	}
	if refused(err) {
		return fmt.Errorf("table: %w", err)
	}
	if isFull(err) {
		return fmt.Errorf("table: %w: %w", ErrFull, err)
	}
	return fmt.Errorf("table: %w: %w", ErrUnavailable, err)
}

// isFull reports whether the disk of the database is full.
func isFull(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "53100" // disk_full
	}
	var lite *sqlite.Error
	return errors.As(err, &lite) && primary(lite) == sqliteFull
}

func refused(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return false
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		// Classes of PostgreSQL, appendix A: connection, read-only transaction, rollback,
		// resources, state of an object, operator, system, internal.
		return !slices.Contains([]string{"08", "25", "40", "53", "55", "57", "58", "XX"}, pg.Code[:2])
	}
	var lite *sqlite.Error
	return errors.As(err, &lite) &&
		slices.Contains([]int{sqliteError, sqliteConstraint, sqliteMismatch, sqliteMisuse}, primary(lite))
}
