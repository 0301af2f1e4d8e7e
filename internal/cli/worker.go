package cli

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"

	"contend/experiment"
	"contend/fleet"
	"contend/internal/replicas"
	"contend/protocol"
	"contend/setting"
)

func newWorker(a *app) *cobra.Command {
	var w struct {
		Fleet    string `flag:"fleet" words:"*URL* of the fleet, as its coordinator prints it: tls://host:port or nats://host:port"`
		Subjects string `flag:"subjects" words:"*file* with the servers that this machine starts for compare, sweep and run (subject:NAME); it then drives no load if other workers do"`
		Name     string `flag:"name" words:"*name* of this worker in reports (default: host/PID)"`
		fleetSecurity
	}
	var attached bool
	var o *options
	cmd := &cobra.Command{
		Use:   "worker --fleet URL",
		Short: "Drive a share of the load for a coordinator on another machine",
		Long: "Wait for a coordinator (contend run --fleet), drive the share of the load that it requests, and wait\n" +
			"for the next one, until interrupted. With --subjects, also start servers for it, but only those in\n" +
			"that file. The token of the fleet is read from " + fleet.TokenVariable + ". Certificates, passwords and\n" +
			"tokens for the target are read on this machine: the coordinator names them and never sends them.",
		Example: indent + "contend worker --fleet tls://10.0.0.7:4222\n" +
			indent + "contend worker --fleet tls://10.0.0.7:4222 --subjects subjects.yaml",
		Args: arguments(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := o.read()
			at := w.at(w.Fleet)
			if problem := at.Validate(); err == nil && problem != nil {
				err = setting.FlagErrors(setting.At(&w, &w.Fleet).Wrong("%v", problem))
			}
			if err != nil {
				return usage(err)
			}
			ctx := cmd.Context()
			host := fleet.Host{Name: w.Name, Version: version(), Opener: a.workersOpener, Limit: a.selfLimit, Hide: a.secrets.Hide}
			if host.Subjects, err = a.startersOf(w.Subjects); err != nil {
				return usage(err)
			}
			if attached {
				var cancel context.CancelFunc
				ctx, cancel = replicas.Attach(ctx, os.Stdin)
				defer cancel()
			} else {
				host.Say = func(line string) { fmt.Fprintln(a.Err, line) }
			}
			if err := host.Work(ctx, at); err != nil && ctx.Err() == nil {
				return failed(err)
			}
			return nil
		},
	}
	o = optionsOf(cmd, &w)
	cmd.Flags().BoolVar(&attached, "attached", false, "end with standard input")
	_ = cmd.Flags().MarkHidden("attached") // it exists
	return cmd
}

// workersOpener knows the secrets and proxies of this machine's environment; what scripts find in
// __ENV comes from the coordinator, so that all workers find the same.
func (a *app) workersOpener() (protocol.Opener, error) {
	opener, err := a.newOpener()
	opener.Environ = nil
	return opener, err
}

// fleetSecurity says which authorities to trust on the way to a fleet.
type fleetSecurity struct {
	CA       string `flag:"fleet-ca" words:"*file* with the CA certificates, in PEM form, for the NATS server (default: the system's)"`
	Insecure bool   `flag:"insecure-fleet" words:"allow plain text beyond this machine: anyone on the network path can read and change it"`
}

// at is an address with all that lets one in.
func (s *fleetSecurity) at(url string) fleet.Address {
	return fleet.Address{URL: url, Token: os.Getenv(fleet.TokenVariable), Credentials: os.Getenv(fleet.CredentialsVariable),
		CA: s.CA, Insecure: s.Insecure}
}

// startersOf reads what a worker offers; "": nothing.
func (a *app) startersOf(file string) (map[string]fleet.Starter, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	a.secrets.Learn(string(text))
	offered, err := experiment.ParseOffered(file, text)
	if err != nil {
		return nil, err
	}
	if offered.Address != "" {
		listener, err := net.Listen("tcp", net.JoinHostPort(offered.Address, "0"))
		if err != nil {
			return nil, fmt.Errorf("%s: cannot listen at the address %q; expected an IP address of this machine (%w)", file, offered.Address, err)
		}
		listener.Close()
	}
	me, err := self()
	if err != nil {
		return nil, err
	}
	starters := map[string]fleet.Starter{}
	for name, start := range offered.Starters(me) {
		starters[name] = start
	}
	return starters, nil
}
