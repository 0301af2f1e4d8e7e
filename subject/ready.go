package subject

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	pollEvery    = time.Millisecond // at first
	pollAtMost   = 20 * time.Millisecond
	probeTimeout = time.Second
	settleTime   = 50 * time.Millisecond
)

// Ready says when a subject counts as ready. All that is set must hold. The
// zero value means TCP if an address is handed over, and otherwise that the
// process still lives 50 ms after its start.
type Ready struct {
	// TCP asks that every address handed over accepts connections.
	TCP bool
	// HTTP is a path on {{addr}}, or a whole URL with placeholders; a GET of it
	// must answer 200, and each attempt within a second.
	HTTP string
	// Log is a regular expression (RE2) that a whole line of standard output or
	// standard error must contain a match of.
	Log string
}

// A probe returns nil when what it asks holds, else why not.
type probe func(context.Context) error

// url is the address to GET, placeholders included, or "".
func (r Ready) url() string {
	if strings.HasPrefix(r.HTTP, "/") {
		return "http://{{addr}}" + r.HTTP
	}
	return r.HTTP
}

// watch returns the watch for the log line, or nil if no line is asked for.
func (r Ready) watch() (*lineWatch, error) {
	if r.Log == "" {
		return nil, nil
	}
	pattern, err := regexp.Compile(r.Log)
	if err != nil {
		return nil, fmt.Errorf("ready log %q: %w", r.Log, err)
	}
	return &lineWatch{pattern: pattern, seen: make(chan struct{})}, nil
}

// validate checks r against the names of the addresses that the command gets.
func (r Ready) validate(names []string) error {
	if r.TCP && len(names) == 0 {
		return errors.New("ready tcp: no address is handed over; use {{addr}} or {{port}} in the command")
	}
	if r.HTTP == "" {
		return nil
	}
	if !strings.HasPrefix(r.HTTP, "/") && !strings.HasPrefix(r.HTTP, "http://") {
		return fmt.Errorf("ready http is %q; expected /PATH, http://…", r.HTTP)
	}
	asked, err := addressNames([]string{r.url()})
	if err != nil {
		return fmt.Errorf("ready http: %w", err)
	}
	for _, name := range asked {
		if !slices.Contains(names, name) {
			return fmt.Errorf("ready http %q: address %q is not handed over; use it in the command", r.HTTP, name)
		}
	}
	return nil
}

// probes returns what has to hold, in the order in which to ask; published says that
// the addresses are those of a container, and said is how errors call them.
func (r Ready) probes(addrs map[string]string, watch *lineWatch, published bool, said *strings.Replacer) []probe {
	var all []probe
	if watch != nil {
		all = append(all, watch.probe)
	}
	if r.TCP || (r == Ready{}) {
		for _, addr := range addrs {
			all = append(all, tcpProbe(addr, said.Replace(addr), published))
		}
	}
	if r.HTTP != "" {
		all = append(all, httpProbe(substitute(r.url(), addrs), said))
	}
	if all == nil {
		all = append(all, settleProbe(time.Now().Add(settleTime)))
	}
	return all
}

func (w *lineWatch) probe(context.Context) error {
	select {
	case <-w.seen:
		return nil
	default:
		return fmt.Errorf("no line of its output matched %q", w.pattern)
	}
}

// notThere says of an error to connect to an address that nobody listens, where it is that.
func notThere(err error, address string) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("nobody listens at %s", address)
	}
	return err
}

// tcpProbe asks for a connection, and for a published port that the connection stays
// open: such a port accepts before its server does, and hangs up then.
func tcpProbe(addr, said string, published bool) probe {
	return func(ctx context.Context) error {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", addr)
		if err != nil {
			return notThere(err, said)
		}
		defer conn.Close()
		if !published {
			return nil
		}
		conn.SetReadDeadline(time.Now().Add(settleTime))
		if _, err := conn.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("the port is published, and nobody listens behind it: %w", err)
		}
		return nil
	}
}

func httpProbe(url string, said *strings.Replacer) probe {
	shown := said.Replace(url)
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		request.Close = true
		// A transport of its own: no proxy, no idle connection, no redirect.
		answer, err := new(http.Transport).RoundTrip(request)
		if err != nil {
			return fmt.Errorf("GET %s: %w", shown, notThere(err, said.Replace(request.URL.Host)))
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("GET %s answered %s", shown, answer.Status)
		}
		return nil
	}
}

func settleProbe(until time.Time) probe {
	return func(context.Context) error {
		if time.Now().Before(until) {
			return fmt.Errorf("it has not lived for %v", settleTime)
		}
		return nil
	}
}

// awaitReady asks the probes in turn, each until it holds. It returns the last
// answer when ctx ends, and errEnded as soon as done is closed.
func awaitReady(ctx context.Context, done <-chan struct{}, probes []probe) error {
	for _, ask := range probes {
		if err := poll(ctx, done, ask); err != nil {
			return err
		}
	}
	return nil
}

// poll asks ever less often, as questions take CPU time from what is starting: it notices 2% late, at most pollAtMost.
func poll(ctx context.Context, done <-chan struct{}, ask probe) error {
	began := time.Now()
	var notYet error
	for {
		err := attempt(ctx, ask)
		if err != nil && (ctx.Err() == nil || notYet == nil) {
			notYet = err // an answer cut short by ctx says less than the one before
		}
		select {
		case <-done:
			return errEnded
		default:
		}
		if err == nil || errors.Is(err, errTaken) {
			return err
		}
		select {
		case <-done:
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), notYet)
		case <-time.After(min(max(time.Since(began)/50, pollEvery), pollAtMost)):
		}
	}
}

func attempt(ctx context.Context, ask probe) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return ask(ctx)
}
