package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"contend/subject"
	"contend/systems/uplink/table"
)

const (
	readyDevices = 10_000_000
	readyBar     = time.Minute
)

// ready starts a router over a table of many devices.
func (b *bench) ready(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "contend-ready")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	url := cmp.Or(b.db, "sqlite:"+filepath.Join(dir, "devices.db"))
	scheme, _, _ := strings.Cut(url, ":")
	began := time.Now()
	size, err := fillTable(ctx, url)
	if err != nil {
		return fmt.Errorf("row ready: %w", err)
	}
	fmt.Fprintf(b.out, "\n%d devices of 1000 customers in %s, %d bytes each, written in %v\n", readyDevices, scheme, size/readyDevices, time.Since(began).Round(time.Second))
	router, err := subject.Start(ctx, subject.Config{Name: "router", Ready: subject.Ready{HTTP: "/ready"}, StartTimeout: 10 * readyBar,
		Command: []string{b.contend, "serve", "router", "--http", "{{addr}}", "--db", url}})
	if err != nil {
		return fmt.Errorf("row ready: %w", err)
	}
	sample, err := router.Sample()
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "  ready after %.1f s, %.1f s of CPU, with %.0f MB; bar: at most %.0f s\n",
		sample.Elapsed.Seconds(), sample.CPU.Seconds(), float64(sample.RSSBytes)/1e6, readyBar.Seconds())
	return router.Stop(ctx)
}

// fillTable writes the devices in the order of their creation, those of the customers
// in turns, so that each customer's are spread over the whole file. It returns the size of it all in bytes.
func fillTable(ctx context.Context, url string) (size int64, err error) {
	rows, err := table.Open(ctx, table.Config{URL: url}) // for the schema
	if err != nil {
		return 0, err
	}
	if err := rows.Close(); err != nil {
		return 0, err
	}
	driver, source, sized := "pgx", url, "SELECT pg_total_relation_size('devices')"
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		driver, source = "sqlite", "file:"+path+"?_pragma=cache_size(-2000000)&_pragma=synchronous(off)"
		sized = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, fmt.Sprintf(`INSERT INTO devices (dev_eui, customer, join_eui, active, created)
		WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		SELECT i, 'customer ' || (i %% 1000), i, i, i FROM n`, readyDevices))
	if err != nil {
		return 0, err
	}
	err = db.QueryRowContext(ctx, sized).Scan(&size)
	return size, err
}
