package table

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	"modernc.org/sqlite"
)

// A claim keeps other tables, of this process or another, from an SQLite file. It is a
// transaction that stays open in an empty database next to the file. So SQLite does
// the locking, and the lock ends with the process. The file itself stays free to be
// read or backed up.
type claim struct {
	db *sql.DB
	tx *sql.Tx
}

// claimFile claims the file of a database, if it has one. It fails where another table
// has it.
func (db *database) claimFile() error {
	if db.file == "" {
		return nil
	}
	file := db.file
	if real, err := filepath.EvalSymlinks(file); err == nil { // else SQLite will make it
		file = real
	}
	lock, err := sql.Open("sqlite", fileURL(file+".lock")+"?_txlock=exclusive")
	if err != nil {
		return err
	}
	tx, err := lock.BeginTx(context.Background(), nil) // it ends with its context
	if err == nil {
		db.claim = &claim{lock, tx}
		return nil
	}
	err = errors.Join(err, lock.Close())
	if lite, ok := errors.AsType[*sqlite.Error](err); ok && primary(lite) == sqliteBusy {
		return fmt.Errorf("another router has the SQLite file %s, which is for one only: several need PostgreSQL", file)
	}
	return classified(err)
}

// release lets others have the file. Calling it again, or of nil, does nothing.
func (c *claim) release() error {
	if c == nil {
		return nil
	}
	return errors.Join(ignoreDone(c.tx.Rollback()), c.db.Close())
}
