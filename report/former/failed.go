// Package former reads what documents of former versions say in words alone.
package former

import (
	"slices"
	"strconv"
	"strings"

	"contend/failure"
	"contend/internal/lazyregexp"
)

// Documents of contend up to 0.2 have failures as texts alone. This file reads them. It matches the
// words of those versions, so it stays as it is when today's words change.

var (
	// endOfOutput is where the error of a command's process ends and its last lines begin.
	endOfOutput = lazyregexp.New(`; end of its (stderr|stdout):\n`)
	// ofServer begins what an error says of a server.
	ofServer = lazyregexp.New(`^(its process died: )?(?:(?:subject|server) ([^:]+): )?`)
	// dialled says the address again, in the words of the system call, before the reason that it
	// cannot be reached.
	dialled = lazyregexp.New(`((?:cannot reach|connect to) \S+: )(?:[a-z]+: )?(?:dial: )?dial (?:tcp|udp|unix)[46]?(?: \S+)?: (?:connect: )?`)
	// unreached is an address at which nothing answers, and why.
	unreached = lazyregexp.New(`^cannot reach (\S+): (?:[a-z]+: )?(.*)$`)
	// whatToPut is the advice for a server that listens at another address.
	whatToPut = lazyregexp.New(`: (put [^;]*)`)
	// missingProgram is one that the system did not find.
	missingProgram = lazyregexp.New(`fork/exec (\S+): no such file or directory|exec: "([^"]+)": executable file not found in \S+`)
	// taken is an address at which somebody else listens.
	taken = lazyregexp.New(`^another program listens at ([^,]+)`)
	// exited is how a process ended.
	exited = lazyregexp.New(`ended(?: unasked)?: (?:exit status (\d+)$)?`)
)

// kindsBefore are what the system said of a connection: the first that a text holds.
var kindsBefore = []struct {
	says string
	kind failure.Kind
}{
	{"server misbehaving", failure.NameServer},
	{"lookup ", failure.NoHost},
	{"no such host", failure.NoHost},
	{"read udp ", failure.NoQUIC},
	{"no connection within ", failure.Silent},
	{"the proxy ", failure.Proxy},
	{"cannot assign requested address", failure.NoLocalPort},
	{"no such file or directory", failure.NoSocket},
	{"permission denied", failure.Forbidden},
	{"operation not permitted", failure.Filtered},
	{"network is unreachable", failure.NoNetwork},
	{"no route to host", failure.NoRoute},
	{"too many open files", failure.NoFiles},
	{"connection reset by peer", failure.Ended},
	{"TLS handshake", failure.Handshake},
	{"EOF", failure.Ended},
	{"connection refused", failure.Refused},
}

// Failures reads a text that says why one or several arms failed, one after the other.
func Failures(text string, arms []string) (list []failure.Failure) {
	begin := 0
	for i := range text {
		if text[i] == '\n' && slices.ContainsFunc(arms, func(arm string) bool { return strings.HasPrefix(text[i+1:], arm+": ") }) {
			list = append(list, failureIn(strings.TrimSpace(text[begin:i]), arms))
			begin = i + 1
		}
	}
	return append(list, failureIn(strings.TrimSpace(text[begin:]), arms))
}

// failureIn reads the error of one arm.
func failureIn(text string, arms []string) (f failure.Failure) {
	if at := endOfOutput().FindStringSubmatchIndex(text); at != nil {
		f.Stream = text[at[2]:at[3]]
		for _, line := range strings.Split(strings.Trim(text[at[1]:], "\n"), "\n") {
			f.LastWords = append(f.LastWords, strings.TrimPrefix(line, "\t"))
		}
		text = text[:at[0]]
	}
	text, f.Advice, _ = strings.Cut(text, "\n")
	f.Cause, f.More, _ = strings.Cut(text, "; ")
	if m := whatToPut().FindStringSubmatch(f.More); m != nil {
		f.More, f.Advice = strings.Replace(f.More, m[0], "", 1), m[1]
	}
	f.Cause = dialled().ReplaceAllString(f.Cause, "$1")
	for _, arm := range arms {
		if rest, ok := strings.CutPrefix(strings.TrimPrefix(f.Cause, "arm "), arm+": "); ok {
			f.Arm, f.Cause = arm, rest
		}
	}
	m := ofServer().FindStringSubmatch(f.Cause)
	f.Died, f.Server, f.Cause = m[1] != "", m[2], strings.TrimPrefix(f.Cause, m[0])
	classifyBefore(&f)
	return f
}

// classifyBefore finds the kind of a failure in its cause.
func classifyBefore(f *failure.Failure) {
	f.Kind = failure.Other
	if m := missingProgram().FindStringSubmatch(f.Cause); m != nil {
		f.Kind, f.Program = failure.NoProgram, m[1]+m[2]
	} else if m := unreached().FindStringSubmatch(f.Cause); m != nil {
		f.Kind, f.Address, f.Cause = failure.Unreached, m[1], m[2]
		for _, one := range kindsBefore {
			if strings.Contains(f.Cause, one.says) {
				f.Kind = one.kind
				break
			}
		}
	} else if m := taken().FindStringSubmatch(f.Cause); m != nil {
		f.Kind, f.Address = failure.AddressTaken, m[1]
	} else if m := exited().FindStringSubmatch(f.Cause); m != nil {
		f.Kind = failure.Exited
		if status, err := strconv.Atoi(m[1]); err == nil {
			f.Exit = &status
		}
	} else if strings.HasPrefix(f.Cause, "not ready ") {
		f.Kind = failure.NotReady
	}
}

// Purpose says what a step is for whose document does not: a command line, or advice, which has none.
func Purpose(step string) string {
	if strings.HasPrefix(step, "contend ") {
		return "run this"
	}
	return ""
}
