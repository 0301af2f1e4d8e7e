package table

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"strconv"
)

// Each step is a file named by its version, from 1 without gaps. A step that was
// released is never changed.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrationLock is the key of PostgreSQL's advisory lock under which one instance
// at a time brings the schema up to date.
const migrationLock = 0x636f6e74656e64 // "contend"

var errSchema = errors.New("table: unknown schema")

// migrate brings the schema up to date. It refuses a schema that is newer than it
// knows.
func (db *database) migrate(ctx context.Context) error {
	return classified(db.attempt(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if db.postgres != nil {
			if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_versions
			(version BIGINT PRIMARY KEY, applied BIGINT NOT NULL)`)
		if err != nil {
			return err
		}
		var version int
		row := tx.QueryRowContext(ctx, "SELECT COALESCE(MAX(version), 0) FROM schema_versions")
		if err := row.Scan(&version); err != nil {
			return err
		}
		return advance(ctx, tx, version)
	}))
}

// advance applies the steps after a version.
func advance(ctx context.Context, tx *sql.Tx, version int) error {
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		return err
	}
	if version > len(files) {
		return fmt.Errorf("%w: the database has version %d, this program knows up to %d",
			errSchema, version, len(files))
	}
	for next := version + 1; next <= len(files); next++ {
		step, err := migrations.ReadFile("migrations/" + strconv.Itoa(next) + ".sql")
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(step)); err != nil {
			return fmt.Errorf("schema version %d: %w", next, err)
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO schema_versions VALUES ($1, $2)", next, now()); err != nil {
			return err
		}
	}
	return nil
}
