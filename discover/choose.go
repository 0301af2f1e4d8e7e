package discover

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"contend/failure"
)

// A Choice is what several servers are asked for alike.
type Choice struct {
	// URL has {{addr}}, or localhost and the port on which all of them insist.
	URL string
	// HTTP2 and Insecure are what the flags --http 2 and --insecure are for.
	HTTP2, Insecure bool
	// Also says what else could be asked for; "": nothing is known.
	Also string
}

// Choose chooses a port of each server, which number says if it is not 0, and what to ask all of them for. The error says
// what there is instead, and which flag chooses.
func Choose(servers []*Server, number int) (Choice, error) {
	ports := make([]Port, len(servers))
	var errs []error
	for i, s := range servers {
		var err error
		ports[i], err = s.port(number)
		if f, is := failure.Of(err); is && len(servers) > 1 {
			f.Arm = s.Name
			err = failure.With(err, f)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return Choice{}, err
	}
	for i, p := range ports[1:] {
		if p.Scheme != ports[0].Scheme || p.HTTP2 != ports[0].HTTP2 {
			return Choice{}, fmt.Errorf("%s speaks %v, but %s %v: a comparison asks all servers alike", servers[0].Name, ports[0].Service, servers[i+1].Name, p.Service)
		}
	}
	at, err := host(servers, ports)
	if err != nil {
		return Choice{}, err
	}
	path, also, err := path(servers, ports, at)
	return Choice{URL: ports[0].Scheme + "://" + at + path, HTTP2: ports[0].HTTP2, Insecure: strings.HasSuffix(ports[0].Scheme, "s"), Also: also}, err
}

// port chooses the port with a number, the one that the server was told, or the only one that can be driven.
func (s *Server) port(number int) (Port, error) {
	var driven []Port
	for _, p := range s.Ports {
		switch {
		case p.Told:
			return p.driven(s)
		case number != 0 && p.Number == number:
			driven = []Port{p}
		case p.Scheme != "" && number == 0:
			driven = append(driven, p)
		}
	}
	for _, better := range []func(Port) bool{Port.ofHTTP, Port.atRoot} {
		if rest := slices.DeleteFunc(slices.Clone(driven), func(p Port) bool { return !better(p) }); len(rest) == 1 {
			driven = rest
		}
	}
	switch {
	case len(driven) == 1:
		return driven[0].driven(s)
	case number != 0 && len(driven) == 0:
		return Port{}, fmt.Errorf("--port is %d, but %s %v", number, s.Name, s)
	case len(driven) > 1:
		return Port{}, fmt.Errorf("%s %v: choose one with --port, as in --port %d", s.Name, s, driven[0].Number)
	}
	return Port{}.driven(s)
}

func (p Port) ofHTTP() bool { return strings.HasPrefix(p.Scheme, "http") }

// atRoot reports whether the page at / is there.
func (p Port) atRoot() bool { return p.ofHTTP() && p.Answers[0].Path == "/" && p.Answers[0].Right }

// driven is the port of a server, if contend can drive it.
func (p Port) driven(s *Server) (Port, error) {
	if p.Scheme != "" {
		return p, nil
	}
	const advice = "name the URL of a port where it speaks HTTP, gRPC or WebSocket, or drive bytes over TCP: tcp://{{addr}} as the URL, --data BYTES and --until BYTES"
	return p, failure.With(fmt.Errorf("%s %v: contend drives HTTP, gRPC and WebSocket, and bytes over TCP", s.Name, s),
		failure.Failure{Server: "server", Kind: failure.NotDriven, Cause: "it " + s.String(), Advice: advice})
}

// host is that of the URL: localhost and the port if all that were not told one insist on the same, else {{addr}}, under
// which a server is found by its only port.
func host(servers []*Server, ports []Port) (string, error) {
	insist, untold, numbers := true, 0, map[int]bool{}
	for _, p := range ports {
		if !p.Told {
			insist, numbers[p.Number] = insist && p.Fixed, true
			untold++
		}
	}
	if len(numbers) == 1 && (insist || untold > 1) { // the system does not give the same port twice
		return fmt.Sprintf("localhost:%d", slices.Collect(maps.Keys(numbers))[0]), nil
	}
	for i, s := range servers {
		if !ports[i].Told && len(s.Ports) > 1 {
			return "", fmt.Errorf("%s %v, and the port differs between servers or starts: give all servers the same one", s.Name, s)
		}
	}
	return "{{addr}}", nil
}

// mostWrong are the paths that are named although they are not asked for.
const mostWrong = 3

// path is the first that all servers answer rightly, and what else they do.
func path(servers []*Server, ports []Port, at string) (path, also string, err error) {
	var right, wrong []string
	for _, a := range ports[0].Answers {
		said, good := a.Said, a.Right
		for _, p := range ports[1:] {
			if i := slices.IndexFunc(p.Answers, func(o Answer) bool { return o.Path == a.Path }); i >= 0 {
				said, good = said+" and "+p.Answers[i].Said, good && p.Answers[i].Right
			} else {
				said, good = said+" and not tried", false
			}
		}
		if good {
			right = append(right, a.Path)
		} else {
			wrong = append(wrong, fmt.Sprintf("%s (%s)", a.Path, said))
		}
	}
	url := ports[0].Scheme + "://" + at
	switch {
	case len(right) == 0 && len(wrong) == 0: // of gRPC
		return "", "", fmt.Errorf("%s speaks gRPC, but describes no unary method: name one with %s/package.Service/Method as the URL, and --proto FILE", servers[0].Name, url)
	case len(right) == 0:
		said := servers[0].Name + " answers nothing rightly that was asked for"
		if len(servers) > 1 {
			said = "no path that was tried is answered rightly by all servers"
		}
		return "", "", fmt.Errorf("%s: %s; name what to ask for with %s/PATH as the URL", said, strings.Join(wrong, ", "), url)
	}
	var rest []string
	if len(right) > 1 {
		rest = append(rest, "also there: "+strings.Join(right[1:], ", "))
	}
	if len(wrong) > 0 {
		rest = append(rest, "not "+strings.Join(wrong[:min(mostWrong, len(wrong))], ", "))
	}
	for _, p := range servers[0].Ports {
		if !ports[0].Told && p.Number != ports[0].Number {
			rest = append(rest, fmt.Sprintf("%v: --port %d", p, p.Number))
		}
	}
	return right[0], strings.Join(rest, "; "), nil
}
