package report

import (
	"cmp"
	"fmt"
	"strings"

	"contend/failure"
	"contend/report/plain"
)

// toFreePorts is the advice where this machine has no local port left for another connection.
const toFreePorts = "all local ports of this machine are in use: keep connections open instead of one for each request, or wait a minute until their ports are free, then run the same command again"

// handshakeAdvice is the advice where a server shakes hands in another way.
const handshakeAdvice = "see what the server says of the handshake, and which versions, ciphers and certificates it accepts"

// reaching has the advice where no connection was made.
var reaching = map[failure.Kind]string{
	failure.NoHost:      "correct the name in the URL, or give the address, then run the same command again",
	failure.NameServer:  "see whether this machine's name server answers, or give the address instead of the name",
	failure.NoQUIC:      "see whether the server speaks HTTP/3 there, which is over UDP, or leave out --http 3",
	failure.Silent:      "see whether the server is there and takes connections, or allow more time (--timeout)",
	failure.Proxy:       "see whether the proxy is there and lets this through (HTTP_PROXY, HTTPS_PROXY), or leave the host out of it by NO_PROXY",
	failure.NoLocalPort: toFreePorts,
	failure.NoSocket:    "start the server that makes this socket, or correct the path of the socket",
	failure.Forbidden:   "run contend as a user who may connect there, or allow it: a socket's file has permissions, and a firewall has rules",
	failure.Filtered:    "see which rule of this machine forbids the connection, as a firewall has them",
	failure.NoNetwork:   "see whether this machine has a way to that network, or correct the address in the URL",
	failure.NoRoute:     "see whether this machine has a way to that host, or correct the address in the URL",
	failure.NoFiles:     "allow this process more open files (ulimit -n), or use fewer callers",
	failure.Ended:       "see why the server ends connections at once (what does it say?), or whether it speaks another protocol there",
	failure.NoALPN:      handshakeAdvice,
	failure.Handshake:   handshakeAdvice,
}

// toReach says what to do where nothing answers.
func toReach(f failure.Failure) string {
	switch {
	case f.Kind == failure.NoLocalPort && strings.Contains(f.Address, "//["):
		return "give the server's IPv4 address: this machine has no IPv6 address to connect from"
	case strings.Contains(f.Address, "//[fe80") && !strings.Contains(f.Address, "%25"):
		return "add the zone of the link-local address to the URL, as in http://[fe80::1%25eth0]/"
	}
	return cmp.Or(reaching[f.Kind], "start the server that is to listen there, or correct the URL, then run the same command again")
}

// isURL reports whether what an arm does is to be asked, and not a command line that names a URL.
func isURL(does string) bool {
	scheme, _, found := strings.Cut(does, "://")
	return found && !strings.ContainsAny(scheme, " \t/=")
}

// toFind says of the first program that is missing where it was looked for; "": none is.
func (e Experiment) toFind() string {
	for _, f := range e.Failures {
		if f.Kind == failure.NoProgram {
			return toFind(f.Program)
		}
	}
	return ""
}

// toFind says where a program was looked for that is missing.
func toFind(program string) string {
	program = plain.Line(program)
	isPath := strings.ContainsAny(program, `/\`)
	switch {
	case strings.ContainsAny(program, "~$"):
		return fmt.Sprintf("write the path of %s in full: no shell reads the command; or have one do it, as in sh -c 'exec …'", program)
	case isPath:
		return fmt.Sprintf("check the path %s, which counts from the folder where contend was started, or from its --dir", program)
	}
	return fmt.Sprintf("check the name %s: there is no such program; in the folder where contend was started it is ./%[1]s", program)
}
