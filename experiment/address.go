package experiment

import (
	"errors"
	"fmt"
	"maps"
	"net"
	neturl "net/url"
	"slices"
	"strconv"
	"strings"

	"contend/internal/lazyregexp"
	"contend/protocol"
	"contend/subject"
)

// atPort finds {{port}} where a URL has its port; at other places it may be a column of rows.
var atPort = lazyregexp.New(`^([^/?#]*//[^/?#]*:)\{\{port\}\}`)

// addrThenPort finds a port after {{addr}}, which has one.
var addrThenPort = lazyregexp.New(`^[^/?#]*//[^/?#]*\{\{addr\}\}:`)

// addressed reports whether a URL has a place for the address that a subject is given.
func addressed(url string) bool {
	return strings.Contains(url, "{{addr}}") || atPort().MatchString(url)
}

// at returns the URL with {{addr}} replaced by the address and {{port}} by its port, or,
// if the port is fixed, with the address instead of the URL's own.
func (s started) at(url string) string {
	if s.moved {
		if u, err := neturl.Parse(url); err == nil {
			return strings.Replace(url, u.Host, s.addr, 1) // the rest as it is written
		}
	}
	_, port, _ := net.SplitHostPort(s.addr) // it is one
	return atPort().ReplaceAllString(strings.ReplaceAll(url, "{{addr}}", s.addr), "${1}"+port)
}

// fixedPort returns the port of a URL on the loopback that has no {{addr}} and no
// {{port}} of its own, as its server insists on it; else 0.
func fixedPort(target protocol.Target) int {
	host, port, err := net.SplitHostPort(target.Address())
	if err != nil || addressed(target.URL()) {
		return 0
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return 0
	}
	n, _ := strconv.Atoi(port) // 0: no number, which the target has refused
	return n
}

// CheckAddress returns an error if it is certain that the command of the subject does
// not listen where the target's URL says: that has no place for its address, or a port of its own after it, or nothing
// hands the address over.
func (s Subject) CheckAddress(target protocol.Target) error {
	const nothing = "the command has neither {{addr}} nor {{port}}"
	words, _ := SplitWords(s.Command) // a mistake is told of the command
	own, _ := Assigned(words)
	setsPort := slices.ContainsFunc(slices.Concat(s.Env, own), func(entry string) bool { return strings.HasPrefix(entry, "PORT=") })
	switch {
	case addrThenPort().MatchString(target.URL()):
		return errors.New("in the URL a port follows {{addr}}, which already has one")
	case s.Elsewhere() != "" && addressed(target.URL()):
		return nil
	case s.Elsewhere() == "" && fixedPort(target) != 0:
		return nil
	case !addressed(target.URL()):
		return errors.New("target " + noPlace(target))
	case subject.HandsOver(slices.Concat([]string{s.Command, s.Serve}, s.Env, slices.Collect(maps.Values(s.Files)))...):
		return nil
	case s.Serve != "":
		return errors.New(nothing)
	case setsPort:
		return errors.New(nothing + ", and its environment sets PORT to something else")
	}
	return nil // it may read PORT
}

// noPlace says that the URL of a command's target has no place for its address.
func noPlace(target protocol.Target) string {
	return fmt.Sprintf("is %q, which has no {{addr}} or {{port}} for the address of the command", target.URL())
}

// alone says why no more than one arm of the part can be alive at a time; "": all can be.
func (r *runner) alone(p Part) string {
	insisting := map[int]string{} // subjects by port
	for _, name := range r.names(p) {
		subject, port := p.Arms[name].Subject, fixedPort(p.Arms[name].Target)
		if port == 0 || !r.Subjects[subject].isStarted() {
			continue
		}
		if other, taken := insisting[port]; taken && other != subject {
			if err := r.options.Movable(); err != nil {
				return fmt.Sprintf("%s and %s insist on port %d, which cannot be moved here (%v)", other, subject, port, err)
			}
			return ""
		}
		insisting[port] = subject
	}
	return ""
}
