package table

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// connections bounds those to PostgreSQL, without the one that listens. An
// instance writes little; the server's default is 100 for all.
const connections = 8

// errReadOnly: as of a server that was demoted, or is about to be.
var errReadOnly = errors.New("the server takes no writes")

// postgresConfig reads a URL, which may name several servers: the first one that takes
// writes is used. Statements have no names, so that a pooler may give each transaction
// another server, and no plan outlives a change of the schema.
func postgresConfig(address string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	if config.ConnectTimeout == 0 { // of each server: the last one has a turn, too, if the others are silent
		config.ConnectTimeout = writeTimeout / 2 / time.Duration(servers(config))
	}
	if config.ValidateConnect == nil {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if config.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return config, nil
}

// servers is how many servers a URL names. Each may occur twice, with TLS and
// without.
func servers(config *pgx.ConnConfig) int {
	type server struct {
		host string
		port uint16
	}
	all := map[server]struct{}{{config.Host, config.Port}: {}}
	for _, other := range config.Fallbacks {
		all[server{other.Host, other.Port}] = struct{}{}
	}
	return len(all)
}

func openPostgres(config *pgx.ConnConfig) *database {
	const since = "outages"
	db := &database{postgres: config, listening: config, timeout: writeTimeout, silence: readSilence}
	// A connection that broke while idle is replaced before it fails a write. One from
	// before an outage is not even tried: it may lead nowhere, and each such would cost
	// a write its whole time, or to a server that takes writes no more.
	db.DB = stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(_ context.Context, conn *pgx.Conn) error {
		conn.PgConn().CustomData()[since] = db.outages.Load()
		return nil
	}), stdlib.OptionShouldPing(func(_ context.Context, idle stdlib.ShouldPingParams) bool {
		if conn := idle.Conn.PgConn(); conn.CustomData()[since] != db.outages.Load() {
			_ = conn.Conn().Close()
		}
		return true
	}))
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db
}

// listenAt has changes heard at another address; "": at that of the database.
func (db *database) listenAt(address string) (err error) {
	if address == "" {
		return nil
	}
	if db.postgres == nil {
		return errors.New("only PostgreSQL tells of changes, and the database is SQLite")
	}
	if db.listening, err = postgresConfig(address); err != nil {
		return fmt.Errorf("to hear of changes: %w", err)
	}
	return nil
}

// writable reports whether the database takes writes. The statement, which may do more,
// selects what isReadOnly does.
func (db *database) writable(ctx context.Context, statement string, args ...any) error {
	var readOnly string
	err := db.QueryRowContext(ctx, statement, args...).Scan(&readOnly)
	if err == nil && readOnly == "on" {
		err = errReadOnly
	}
	return db.noted(err)
}

const isReadOnly = "SELECT current_setting('transaction_read_only')"
