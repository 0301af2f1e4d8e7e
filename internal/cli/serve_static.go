package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"contend/internal/service/static"
)

// staticFlags are what static.Config does not hold as it is given.
type staticFlags struct {
	size string
	text bool
}

func newServeStatic(a *app) *cobra.Command {
	var (
		c static.Config
		f staticFlags
	)
	cmd := &cobra.Command{
		Use:   "static [DIR]",
		Short: "A directory, or a generated page, over HTTP",
		Long: "A directory over HTTP, or with --size one generated page at /.\n\n" +
			"With entity tags and dates, ranges, and .br, .zst and .gz files beside a file as its\n" +
			"compressed forms. No listings, no names that begin with a dot, nothing outside of DIR.\n" +
			"Files may change meanwhile: what is found of one holds for a second.\n" +
			"SIGINT and SIGTERM stop it gracefully.",
		Example: indent + "contend serve static --http :8080 ./public\n" +
			indent + "contend serve static --http :8080 --size 130kB --text",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return arguments(1, "at most one directory")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				c.Dir = args[0]
			}
			if err := f.complete(&c); err != nil {
				return usage(err)
			}
			c.Logger = slog.New(slog.NewTextHandler(a.Err, nil))
			server, err := static.Listen(c)
			if err == nil {
				err = server.Serve(cmd.Context())
			}
			if err != nil {
				return failed(err)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&c.Addr, "http", "", "`address` of the service, such as :8080 or unix:/run/static.sock")
	flags.StringVar(&f.size, "size", "", "`size` of a generated page, such as 61B, 130kB, 1MB (of 1000 bytes)")
	flags.BoolVar(&f.text, "text", false, "the page is HTML with text instead of bytes that do not compress")
	flags.StringVar(&c.Engine, "engine", "", "event_loop (Linux) or goroutines; empty means the first that there is")
	flags.IntVar(&c.Threads, "threads", 0, "event loops; 0 means one for each core")
	flags.IntVar(&c.MaxConns, "max-conns", 0, "connections at a time; 0 means 16384")
	flags.DurationVar(&c.HeaderTimeout, "header-timeout", 0, "how long a request may take to arrive; 0 means 10s")
	flags.DurationVar(&c.IdleTimeout, "idle-timeout", 0, "how long a connection may wait for a request; 0 means 2m")
	flags.DurationVar(&c.WriteTimeout, "write-timeout", 0, "how long an answer may take, and 1s more for each 8 KiB; 0 means 10s")
	flags.DurationVar(&c.DrainTimeout, "drain-timeout", 0, "how long requests in flight may take when stopping; 0 means 10s")
	complete(cmd, "engine", []string{static.EventLoop, static.Goroutines})
	return cmd
}

// complete makes the page, and says in the words of the flags what static.Listen
// would refuse.
func (f *staticFlags) complete(c *static.Config) error {
	var errs []error
	if c.Addr == "" {
		errs = append(errs, errors.New("--http is not given: want an address such as :8080"))
	}
	switch {
	case c.Dir == "" && f.size == "":
		errs = append(errs, errors.New("neither a directory nor --size is given: want one"))
	case c.Dir != "" && f.size != "":
		errs = append(errs, errors.New("both a directory and --size are given: want one"))
	case f.size == "" && f.text:
		errs = append(errs, errors.New("--text is for the page that --size makes"))
	case f.size != "":
		size, err := parseSize(f.size)
		if err == nil {
			c.Page, err = static.NewPage(size, f.text)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("--size: %w", err))
		}
	}
	if c.Engine != "" && c.Engine != static.EventLoop && c.Engine != static.Goroutines {
		errs = append(errs, fmt.Errorf("--engine is %q, allowed are %s and %s", c.Engine, static.EventLoop, static.Goroutines))
	}
	for _, flag := range []struct {
		name  string
		value int64
	}{
		{"threads", int64(c.Threads)}, {"max-conns", int64(c.MaxConns)}, {"header-timeout", int64(c.HeaderTimeout)},
		{"idle-timeout", int64(c.IdleTimeout)}, {"write-timeout", int64(c.WriteTimeout)}, {"drain-timeout", int64(c.DrainTimeout)},
	} {
		if flag.value < 0 {
			errs = append(errs, fmt.Errorf("--%s is negative, allowed are 0 and more", flag.name))
		}
	}
	return errors.Join(errs...)
}

// parseSize reads a number of bytes with a unit of powers of 1000.
func parseSize(text string) (int64, error) {
	number, unit := strings.TrimRight(text, "kMGB"), int64(1)
	switch strings.TrimPrefix(text, number) {
	case "", "B":
	case "k", "kB":
		unit = 1e3
	case "M", "MB":
		unit = 1e6
	case "G", "GB":
		unit = 1e9
	default:
		number = ""
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is no size: want a whole number and B, kB, MB or GB, such as 130kB", text)
	}
	return n * unit, nil
}
