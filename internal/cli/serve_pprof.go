package cli

import (
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"

	"github.com/spf13/cobra"
)

type pprofOptions struct {
	Pprof string `flag:"pprof" words:"*address* for the pages of net/http/pprof, for go tool pprof and compare --why (default: off)"`
}

// withPprof gives a service the pages of net/http/pprof, at an address of their own.
func withPprof(cmd *cobra.Command) *cobra.Command {
	var o pprofOptions
	own, run := optionsOf(cmd, &o), cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := own.read(); err != nil {
			return usage(err)
		}
		if o.Pprof == "" {
			return run(cmd, args)
		}
		listener, err := new(net.ListenConfig).Listen(cmd.Context(), "tcp", o.Pprof)
		if err != nil {
			return failed(fmt.Errorf("--pprof: %w", err))
		}
		defer servePprof(listener)()
		return run(cmd, args)
	}
	return cmd
}

// servePprof serves the pages until end is called.
func servePprof(listener net.Listener) (end func()) {
	pages := http.NewServeMux()
	pages.HandleFunc("/debug/pprof/", pprof.Index)
	pages.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	pages.HandleFunc("/debug/pprof/profile", pprof.Profile)
	pages.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	pages.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := http.Server{Handler: pages}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // until it is closed
	}()
	return func() {
		_ = server.Close()
		<-ended
	}
}
