package report

import (
	"fmt"
	"strings"
)

// toFreePorts is the advice where this machine has no local port left for another connection.
const toFreePorts = "all local ports of this machine are in use: keep connections open instead of one for each request, or wait a minute until the ports of ended ones are free, then the same command again"

// reaching has the advice for what the system says of a connection, by its words.
var reaching = []struct{ says, advice string }{
	{"no such host", "correct the name in the URL, or give the address, then the same command again"},
	{"server misbehaving", "see whether this machine's name server answers, or give the address instead of the name"},
	{"read udp ", "see whether the server speaks HTTP/3 there, which is over UDP, or leave out --http 3"},
	{"no connection within ", "see whether the server is there and takes connections, or allow more time (--timeout)"},
	{"the proxy ", "see whether the proxy is there and lets this through (HTTP_PROXY, HTTPS_PROXY), or leave the host out of it by NO_PROXY"},
	{"cannot assign requested address", toFreePorts},
	{"no such file or directory", "start the server that makes this socket, or correct the path of the socket"},
	{"permission denied", "run contend as a user who may connect there, or allow it: a socket's file has permissions, and a firewall has rules"},
	{"operation not permitted", "see which rule of this machine forbids the connection, as a firewall has them"},
	{"network is unreachable", "see whether this machine has a way to that network, or correct the address in the URL"},
	{"no route to host", "see whether this machine has a way to that host, or correct the address in the URL"},
	{"too many open files", "allow this process more open files (ulimit -n), or use fewer callers"},
	{"connection reset by peer", "see why the server ends connections at once (what does it say?), or whether it speaks another protocol there"},
	{"TLS handshake", "see what the server says of the handshake, and which versions, ciphers and certificates it accepts"},
	{"EOF", "see why the server ends connections at once (what does it say?), or whether it speaks another protocol there"},
}

// toReach says what to do where nothing answers, by the reason.
func toReach(at, why string) string {
	if strings.HasPrefix(why, "lookup ") {
		why += ": no such host"
	}
	if strings.Contains(at, "//[") && strings.Contains(why, "cannot assign requested address") {
		return "give the server's IPv4 address: this machine has no IPv6 address to connect from"
	}
	if strings.Contains(at, "//[fe80") && !strings.Contains(at, "%25") {
		return "add the zone of the link-local address to the URL, as in http://[fe80::1%25eth0]/"
	}
	for _, r := range reaching {
		if strings.Contains(why, r.says) {
			return r.advice
		}
	}
	return "start the server that is to listen there, or correct the URL, then the same command again"
}

// isURL says whether what an arm does is to be asked, and not a command line that names a URL.
func isURL(does string) bool {
	scheme, _, found := strings.Cut(does, "://")
	return found && !strings.ContainsAny(scheme, " \t/=")
}

// toFind says where the program was looked for that an error says is missing; "": it says
// something else.
func toFind(why string) string {
	m := missingProgram.FindStringSubmatch(why)
	switch {
	case m == nil:
		return ""
	case m[1]+m[2] != "" && strings.ContainsAny(m[1]+m[2], "~$"):
		return fmt.Sprintf("write the path of %s in full: no shell reads the command; or have one do it, as in sh -c 'exec …'", m[1]+m[2])
	case strings.Contains(m[2], "="):
		return fmt.Sprintf("write env %s …, as no shell reads the command, or give the variable with --env", m[2])
	case m[1] != "":
		return fmt.Sprintf("check the path %s, which counts from the folder where contend was started, or from its --dir", m[1])
	}
	return fmt.Sprintf("check the name %s, of which there is no program; in the folder where contend was started it is ./%[1]s", m[2])
}
