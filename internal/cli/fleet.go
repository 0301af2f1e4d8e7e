package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"contend/experiment"
	"contend/fleet"
	"contend/internal/placement"
	"contend/load"
	"contend/protocol"
	"contend/protocol/wire"
	"contend/setting"
	"contend/trial"
)

// fleetOptions say who drives the load.
type fleetOptions struct {
	Fleet   string `flag:"fleet" words:"let workers (contend worker) drive the load; they meet at this *address*: host:port to listen on, or tls://host:port of a NATS server"`
	Workers int    `flag:"workers" min:"0" max:"1000" words:"*number* of workers that drive the load together (all that are connected); without --fleet they are started here"`
	fleetSecurity
}

// asked reports whether others are to drive the load.
func (f *fleetOptions) asked() bool { return f.Fleet != "" || f.Workers > 0 }

// again are the flags that have the same workers drive a load; none where the address may hold a password.
func (f *fleetOptions) again() (flags []string) {
	if strings.Contains(f.Fleet, "@") {
		return nil
	}
	if f.Fleet != "" {
		flags = append(flags, "--fleet", f.Fleet)
	}
	if f.Workers > 0 {
		flags = append(flags, "--workers", strconv.Itoa(f.Workers))
	}
	if f.CA != "" {
		flags = append(flags, "--fleet-ca", f.CA)
	}
	if f.Insecure {
		flags = append(flags, "--insecure-fleet")
	}
	return flags
}

// address is where to meet: at a NATS server, or here if the command is to be one.
func (f *fleetOptions) address() (at fleet.Address, listen string) {
	at = f.at(f.Fleet)
	if !strings.Contains(f.Fleet, "://") {
		listen, at.URL = f.Fleet, "tls://"+f.Fleet
	}
	return at, listen
}

// check returns what is wrong with the address.
func (f *fleetOptions) check() error {
	at, listen := f.address()
	_, _, err := net.SplitHostPort(listen)
	switch {
	case f.Fleet == "":
		return nil
	case listen != "" && err != nil:
		return setting.At(f, &f.Fleet).Wrong("is not an address; expected host:port, nats://host:port or tls://host:port") // it may hold a password
	}
	if err := at.Validate(); err != nil {
		return setting.At(f, &f.Fleet).Wrong("%v", err)
	}
	return nil
}

// A crew is workers that drive the load, and what is to be closed after it.
type crew struct {
	fleet   *fleet.Fleet
	engine  *fleet.Engine
	own     []*exec.Cmd
	workers []fleet.Worker // that drive the load
}

// joining is how long it may take until there are as many workers as are wanted, and settling how long
// more are waited for where all are wanted.
const (
	joining  = 30 * time.Second
	settling = time.Second
)

// meet connects to the fleet, or starts what is to be one here.
func (a *app) meet(ctx context.Context, f *fleetOptions) (*crew, error) {
	c := &crew{}
	var err error
	at, listen := f.address()
	switch {
	case f.Fleet == "":
		if c.engine, at, err = fleet.Serve("127.0.0.1:0", rand.Text(), false); err == nil {
			err = c.start(f.Workers, at)
		}
	case listen != "":
		if c.engine, at, err = fleet.Serve(listen, at.Token, f.Insecure); err == nil {
			fmt.Fprintf(a.Err, "fleet: join with contend worker --fleet %s\n", meeting(listen, at))
		}
	}
	if err == nil {
		c.fleet, err = fleet.Gather(ctx, at, version(), func(line string) { fmt.Fprintln(a.Err, "fleet: "+line) })
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// gather brings together the workers that drive the load, and those that start the subjects.
func (a *app) gather(ctx context.Context, f *fleetOptions, subjects []string) (*crew, error) {
	c, err := a.meet(ctx, f)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, joining)
	defer cancel()
	soon, stop := context.WithTimeout(ctx, settling)
	servers, err := c.fleet.Offering(soon, subjects)
	stop()
	if err != nil && soon.Err() != nil {
		fmt.Fprintf(a.Err, "fleet: waiting up to %v: %v\n", joining, err)
		servers, err = c.fleet.Offering(ctx, subjects)
	}
	switch {
	case err != nil:
	case f.Workers > 0:
		c.workers, err = c.fleet.Wait(ctx, f.Workers, servers...)
	default:
		if _, err = c.fleet.Wait(ctx, 1); err == nil {
			_, err = c.fleet.All(ctx, 1, settling)
		}
		if c.workers = c.fleet.Free(servers...); len(c.workers) == 0 && err == nil {
			fmt.Fprintln(a.Err, "fleet: no other worker has joined, so the workers that start the servers also drive the load")
			c.workers = servers
		}
	}
	if err != nil {
		c.close()
		return nil, err
	}
	c.workers = c.fleet.Measured(ctx, c.workers)
	return c, nil
}

// meeting is the address for workers, with the port that was found; a host that listens on all addresses
// is given by its name.
func meeting(listen string, at fleet.Address) string {
	host, _, _ := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host, _ = os.Hostname()
	}
	_, port, _ := net.SplitHostPort(at.Host())
	scheme, _, _ := strings.Cut(at.URL, "://")
	return scheme + "://" + net.JoinHostPort(host, port)
}

// start starts n workers here, which end with this process.
func (c *crew) start(n int, at fleet.Address) error {
	command, err := self()
	if err != nil {
		return err
	}
	for i := range n {
		cmd := exec.Command(command[0], append(command[1:], "worker", "--attached", "--fleet", at.URL, "--name", fmt.Sprintf("worker %d", i+1))...)
		cmd.Env = append(os.Environ(), fleet.TokenVariable+"="+at.Token)
		if _, err := cmd.StdinPipe(); err != nil { // it ends when this does
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		c.own = append(c.own, cmd)
	}
	return nil
}

// close ends what was started here, if there is a crew.
func (c *crew) close() {
	if c == nil {
		return
	}
	if c.fleet != nil {
		c.fleet.Close()
	}
	for _, cmd := range c.own {
		_ = cmd.Process.Kill() // it has no callers any more, and fails only if it has ended
		_ = cmd.Wait()
	}
	if c.engine != nil {
		c.engine.Close()
	}
}

// gatherFor brings together the workers that will drive everything opened later, if others than
// this process do. It reports errors and exits. The caller closes a.crew.
func (a *app) gatherFor(ctx context.Context, f *fleetOptions, subjects []string) error {
	if !f.asked() {
		return nil
	}
	var err error
	if a.crew, err = a.gather(ctx, f, subjects); err != nil {
		if ctx.Err() != nil {
			return tooEarly()
		}
		return failed(err)
	}
	return nil
}

// subjectsOf are the subjects of workers that commands ask for.
func subjectsOf(commands ...string) []string {
	var names []string
	for _, c := range commands {
		if name := (experiment.Subject{Command: c}).Elsewhere(); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// checkSubjects returns what is wrong with the flags where subjects of workers are asked for.
func (a *app) checkSubjects(f *fleetOptions, subjects []string) error {
	switch {
	case len(subjects) == 0:
		return nil
	case slices.Contains(subjects, experiment.Nameless):
		return errors.New("subject: has no name; expected subject:NAME or subject:WORKER/NAME")
	case f.Fleet == "":
		return fmt.Errorf("subject:%s requires --fleet and a worker that starts it: contend worker --fleet URL --subjects FILE", subjects[0])
	case len(a.pins.Generator)+len(a.pins.Servers) > 0:
		return errors.New("--generator-cpus and --server-cpus are CPUs of this machine, but workers run on their own machines")
	}
	return nil
}

// elsewhere starts subjects of workers, placed as requested; nil without a crew.
func (c *crew) elsewhere(place *placement.Process) func(ctx context.Context, name string, setup trial.Setup) (trial.Server, error) {
	if c == nil {
		return nil
	}
	return func(ctx context.Context, name string, setup trial.Setup) (trial.Server, error) {
		return c.fleet.Start(ctx, name, setup, c.workers, place)
	}
}

// remote is how the crew opens targets; nil without one.
func (c *crew) remote() func(protocol.Target, wire.Surroundings) (load.Target, error) {
	if c == nil {
		return nil
	}
	return func(t protocol.Target, around wire.Surroundings) (load.Target, error) {
		return c.fleet.Target(t, around.Seed, c.workers)
	}
}
