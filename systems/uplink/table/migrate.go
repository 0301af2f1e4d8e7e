package table

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
)

// Each step is a file named by its version, from 1 without gaps. A step that was
// released is never changed. If its first line is the additive one, programs that do not
// know it read and write as before: it adds tables, indexes, and columns that have a
// default or may be null, and nothing that has to be kept up to date. Without that line
// they are refused once it is applied; it has to make the statements of running programs
// fail, as these look at the version only then.
//
//go:embed migrations/*.sql
var migrations embed.FS

const additive = "-- additive\n"

// migrationLock is the key of PostgreSQL's advisory lock under which one instance
// at a time brings the schema up to date.
const migrationLock = 0x636f6e74656e64 // "contend"

var errSchema = errors.New("unknown schema")

// steps are the steps that this program knows.
func steps() fs.FS {
	known, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // the name is not one of a folder
	}
	return known
}

// migrate brings the schema up to date with steps. It refuses one that is too new for
// them.
func (db *database) migrate(ctx context.Context, steps fs.FS) error {
	return classified(db.attempt(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if db.postgres != nil {
			if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
				return err
			}
		}
		// The second table came later, and is not a step: programs from before it go on.
		_, err := tx.ExecContext(ctx, `
			CREATE TABLE IF NOT EXISTS schema_versions (version BIGINT PRIMARY KEY, applied BIGINT NOT NULL);
			CREATE TABLE IF NOT EXISTS schema_compatible (version BIGINT PRIMARY KEY, oldest BIGINT NOT NULL)`)
		if err != nil {
			return err
		}
		return advance(ctx, tx, steps)
	}))
}

// advance applies the steps that the database does not have.
func advance(ctx context.Context, tx *sql.Tx, steps fs.FS) error {
	version, oldest, err := schemaOf(ctx, tx)
	if err != nil {
		return err
	}
	files, err := fs.ReadDir(steps, ".")
	if err != nil {
		return err
	}
	if err := understood(version, oldest, len(files)); err != nil {
		return err
	}
	for next := version + 1; next <= len(files); next++ {
		step, err := fs.ReadFile(steps, strconv.Itoa(next)+".sql")
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(step, []byte(additive)) {
			oldest = next
		}
		if _, err := tx.ExecContext(ctx, string(step)); err != nil {
			return fmt.Errorf("schema version %d: %w", next, err)
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO schema_versions VALUES ($1, $2)", next, now())
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO schema_compatible VALUES ($1, $2)", next, oldest)
		if err != nil {
			return err
		}
	}
	return nil
}

// schemaOf returns the version of the schema, 0 without a schema, and the oldest
// version whose programs may use it.
func schemaOf(ctx context.Context, q queryer) (version, oldest int, err error) {
	rows, err := q.QueryContext(ctx, `
		SELECT version, COALESCE(oldest, version) FROM schema_versions LEFT JOIN schema_compatible USING (version)
		ORDER BY version DESC LIMIT 1`)
	if err != nil {
		return 0, 0, err
	}
	defer rows.Close()
	if rows.Next() {
		err = rows.Scan(&version, &oldest)
	}
	return version, oldest, errors.Join(err, rows.Err())
}

// understood reports whether a program that knows so many steps may use a schema.
func understood(version, oldest, known int) error {
	if oldest <= known {
		return nil
	}
	return fmt.Errorf("table: %w: the database has version %d, which needs a later contend, that knows version %d; this one knows up to %d",
		errSchema, version, oldest, known)
}

// explained says of a statement that was refused if the schema has become too new for
// this program, to which the database is not available any more.
func (db *database) explained(ctx context.Context, err error) error {
	if err == nil || !refused(err) {
		return err
	}
	files, _ := fs.ReadDir(steps(), ".")
	version, oldest, unknown := schemaOf(ctx, db)
	if unknown = errors.Join(unknown, understood(version, oldest, len(files))); !errors.Is(unknown, errSchema) {
		return err
	}
	return fmt.Errorf("table: %w: %w: %w", ErrUnavailable, unknown, err)
}
