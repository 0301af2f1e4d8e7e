package paired

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"time"
)

// A Table is a group of rows, which are measured one after the other.
type Table struct {
	Title string
	Rows  []Row
	// Own measures and prints what is not a rate of iterations; nil: nothing more.
	Own func(ctx context.Context, w io.Writer, rounds int) error
}

// A Row compares contend, the first of the tools, with peers at the same work.
type Row struct {
	Title       string
	Connections int
	Tools       []Tool
}

// print compares contend with the installed peers and names the others.
func (r Row) print(ctx context.Context, w io.Writer, rounds int) error {
	fmt.Fprintln(w, r.Title)
	var tools []Tool
	for _, t := range r.Tools {
		var err error
		if t.Path == "" {
			t.Path, err = Find(t.Name)
		}
		switch {
		case errors.Is(err, exec.ErrNotFound):
			fmt.Fprintf(w, "  %s: not found on PATH, in ~/go/bin or in ~/.cargo/bin\n", t.Name)
		case err != nil:
			return err
		default:
			tools = append(tools, t)
		}
	}
	rates, err := Alternate(len(tools), rounds, func(which int) (float64, error) {
		b, err := tools[which].Run(ctx)
		return float64(b.Completed) / b.CPU.Seconds(), err
	})
	if err != nil {
		return err
	}
	for i, t := range tools[1:] {
		ratio, err := NewRatio(rates[0], rates[i+1])
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "  %s %s: iterations per generator-CPU-s: %s %.0f, %s %.0f; %s\n", t.Name, t.Version(),
			tools[0].Name, Median(ratio.Ours), t.Name, Median(ratio.Theirs), ratio.Report(ratio.Against(t.Bar)))
	}
	return nil
}

// A Comparison is what the flags of a benchmark against peers say.
type Comparison struct {
	Blocks
	tables      string
	connections int
}

// Flags defines -block, -rounds, -table and -c.
func (c *Comparison) Flags() {
	c.Blocks.Flags(2*time.Second, 12)
	flag.StringVar(&c.tables, "table", "", "the tables to measure, as in small,big; empty: all")
	flag.IntVar(&c.connections, "c", 0, "only the rows of so many connections; 0: all")
}

// Print measures the rows that are asked for.
func (c *Comparison) Print(ctx context.Context, w io.Writer, tables map[string]Table) error {
	chosen, err := Choose("table", c.tables, slices.Sorted(maps.Keys(tables)))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "blocks of %v, %d rounds, each begun by another tool\n", c.Length, c.Rounds)
	PrintEnvironment(w)
	for _, name := range chosen {
		table := tables[name]
		fmt.Fprintf(w, "\n%s: %s\n", name, table.Title)
		for _, row := range table.Rows {
			if c.connections != 0 && row.Connections != c.connections {
				continue
			}
			if err := row.print(ctx, w, c.Rounds); err != nil {
				return err
			}
		}
		if table.Own != nil {
			if err := table.Own(ctx, w, c.Rounds); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(w, "\nload average now %s\n", LoadAverage())
	return nil
}
