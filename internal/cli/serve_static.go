package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"contend/setting"
	"contend/systems/static"
)

// staticOptions are the page that is served in place of a directory, and how many CPUs serve.
type staticOptions struct {
	Size    int64 `flag:"size" unit:"bytes" min:"0" max:"1GiB" words:"*size* of a generated page, such as 61B, 130kB, 1MB (units of 1000 bytes)"`
	Text    bool  `flag:"text" words:"generate HTML text instead of incompressible bytes"`
	Threads int   `flag:"threads" min:"0" max:"256" words:"CPUs to use at a time; 0 means all"`
}

func newServeStatic(a *app) *cobra.Command {
	var given setting.Values
	cmd := &cobra.Command{
		Use:   "static [DIR]",
		Short: "Serve a directory, or a generated page, over HTTP",
		Long: "Serve a directory over HTTP, or (with --size) one generated page at /.\n\n" +
			"Supports entity tags, dates and ranges; sends FILE.br, .zst or .gz as the compressed form of FILE.\n" +
			"Does not list directories, nor serve names that begin with a dot or anything outside DIR.\n" +
			"Files may change while it runs: changes show within a second.\n" +
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
			c, err := staticConfig(args, given)
			if err != nil {
				return usage(setting.FlagErrors(err))
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
	given = settingFlags(cmd, setting.Of(static.Config{}, staticOptions{}))
	return cmd
}

// staticConfig is what the command line asks for, or every mistake in it.
func staticConfig(args []string, given setting.Values) (static.Config, error) {
	var c static.Config
	var page staticOptions
	errs := []error{setting.Fill(&c, given, setting.InFlags), setting.Fill(&page, given, setting.InFlags)}
	if page.Threads > 0 {
		runtime.GOMAXPROCS(page.Threads)
	}
	_, sized := given["size"]
	switch {
	case len(args) == 0 && !sized:
		errs = append(errs, errors.New("neither a directory nor --size is given; give one of them"))
	case len(args) > 0 && sized:
		errs = append(errs, errors.New("use either a directory or --size, not both"))
	case !sized && page.Text:
		errs = append(errs, errors.New("--text requires --size"))
	case sized:
		var err error
		c.Page, err = static.NewPage(page.Size, page.Text)
		errs = append(errs, err)
	default:
		c.Dir = args[0]
		if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
			errs = append(errs, fmt.Errorf("%q is not a directory; expected an existing one, or --size alone", c.Dir))
		}
	}
	return c, errors.Join(append(errs, c.Validate())...)
}
