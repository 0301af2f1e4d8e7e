package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"contend/setting"
)

// elsewhere has the flags of other tools that do not exist here, without dashes: what each means
// there, and what to use here instead. Flags of ab are flags of contend ab. Their sources are the
// manuals of k6, wrk, wrk2, oha, hey, ghz, vegeta, h2load, fortio, ab and curl.
var elsewhere = map[string][]meaning{
	"vus":               {{"k6", "the number of callers", "-c N"}},
	"u":                 {{"k6", "the number of callers", "-c N"}, {"ab", "a file with the body of a PUT", "-X PUT --data-file FILE"}},
	"i":                 {{"k6", "the number of iterations", "-n N"}, {"ghz", "a folder of .proto files", "--import-path FOLDER"}, {"h2load", "a file of URLs", "--requests FILE"}, {"ab", "HEAD instead of GET", "-X HEAD"}},
	"s":                 {{"k6", "callers, and for how long", "--stages 100/10s,500/30s in arrivals per second"}, {"wrk", "a Lua script", "--requests FILE, --rows FILE and --check"}, {"ab", "the time limit of a response", "--timeout 30s"}},
	"stage":             {{"k6", "callers, and for how long", "--stages 100/10s,500/30s in arrivals per second"}},
	"rps":               {{"k6 and ghz", "requests per second", "--rate N"}, {"h2load", "requests per second of each client", "--rate N for all together"}},
	"r":                 {{"ghz", "requests per second", "--rate N"}, {"ab", "continue after errors", "leave it out: errors are counted"}},
	"qps":               {{"fortio", "requests per second", "--rate N"}},
	"R":                 {{"wrk2", "requests per second", "--rate N"}},
	"q":                 {{"oha", "requests per second", "--rate N"}, {"hey", "requests per second of each worker", "--rate N for all together"}, {"ab and k6", "less output", "leave it out"}},
	"z":                 {{"oha, hey and ghz", "the duration", "-d 10s"}},
	"t":                 {{"wrk and h2load", "the number of threads", "leave it out: every core is used, and -c N is the concurrency"}, {"ab and fortio", "the duration", "-d 10s"}, {"oha, hey and ghz", "the time limit of a response", "--timeout 10s"}},
	"threads":           {{"wrk and h2load", "the number of threads", "leave it out: every core is used, and -c N is the concurrency"}},
	"worker-threads":    {{"oha", "the number of threads", "leave it out: every core is used, and -c N is the concurrency"}},
	"host":              {{"oha and hey", "the header field Host", "-H 'Host: NAME'"}},
	"k":                 {{"ab", "connections are kept open", "leave it out: they are, and --no-keepalive closes them"}, {"curl and fortio", "any certificate is accepted", "--insecure"}},
	"m":                 {{"oha, hey and ab", "the method", "-X POST"}, {"ghz", "metadata", "-H 'name: value'"}, {"h2load", "the streams of a connection", "--connections shared:N"}},
	"metadata":          {{"ghz", "metadata", "-H 'name: value'"}},
	"T":                 {{"oha, hey and ab", "the type of the body", "-H 'Content-Type: application/json'"}, {"wrk and wrk2", "the time limit of a response", "--timeout 10s"}},
	"D":                 {{"oha, hey and ghz", "a file with the body", "--data-file FILE"}, {"h2load", "the duration", "-d 10s"}},
	"payload":           {{"fortio", "the body", "--data TEXT"}},
	"payload-file":      {{"fortio", "a file with the body", "--data-file FILE"}},
	"body":              {{"vegeta", "a file with the body", "--data-file FILE"}},
	"p":                 {{"ab", "a file with the body of a POST", "-X POST --data-file FILE"}, {"oha", "the streams of a connection", "--connections shared:N"}},
	"a":                 {{"oha and hey", "user:password", "--basic-auth env:NAME"}},
	"A":                 {{"ab", "user:password", "--basic-auth env:NAME"}, {"oha and hey", "the header field Accept", "-H 'Accept: text/html'"}},
	"C":                 {{"ab", "a cookie", "-H 'Cookie: name=value'"}},
	"L":                 {{"wrk and wrk2", "the percentiles of response times", "leave it out: they are always shown"}},
	"latency":           {{"wrk and wrk2", "the percentiles of response times", "leave it out: they are always shown"}},
	"max-workers":       {{"vegeta", "the most workers", "-c N"}},
	"targets":           {{"vegeta", "a file of requests", "--requests FILE"}},
	"keepalive":         {{"vegeta", "whether connections are kept open", "leave it out: they are, and --no-keepalive closes them"}},
	"disable-keepalive": {{"oha and hey", "a connection for each request", "--no-keepalive"}},
	"http2":             {{"oha and vegeta", "HTTP/2", "--http 2"}},
	"h1":                {{"h2load", "HTTP/1.1", "--http 1.1"}},
	"h2":                {{"hey and fortio", "HTTP/2", "--http 2"}},
	"http-version":      {{"oha", "the version of HTTP", "--http 2"}},
	"total":             {{"ghz", "the number of requests", "-n N"}},
	"call":              {{"ghz", "the method to call", "the target: grpc://host:port/package.Service/Method"}},
	"skipTLS":           {{"ghz", "any certificate is accepted", "--insecure"}},
	"cacert":            {{"ghz, oha and fortio", "a file with the trusted CA certificates", "--ca-file FILE"}},
	"root-certs":        {{"vegeta", "a file with the trusted CA certificates", "--ca-file FILE"}},
	"cert":              {{"ghz, vegeta, oha and fortio", "a file with the client certificate", "--cert-file FILE"}},
	"key":               {{"ghz, vegeta, oha and fortio", "a file with its key", "--key-file FILE"}},
	"threshold":         {{"k6", "a limit for a metric", "--expect 'p99 < 20ms'"}},
	"no-tui":            {{"oha", "no live view", "leave it out: progress is on standard error"}},
}

// misplaced are flags of some commands: what to do where another one is given them.
var misplaced = map[string]string{
	"url":       "the URL is an argument, not a flag; --url is for commands that contend compare starts",
	"objective": "to check a claim use --expect 'p99 < 20ms'; to find the highest rate that keeps it: contend sweep --rate --objective 'p99 < 20ms' URL",
}

// A meaning is what a flag means in other tools, and what says the same here.
type meaning struct{ tools, what, ours string }

// instead is what to do in place of a flag; which says what it means there, where it means several things.
func (m meaning) instead(flag, which string) string {
	flag = m.tools + "'s " + flag + which
	if why, leave := strings.CutPrefix(m.ours, "leave it out"); leave {
		return "leave out " + flag + why
	}
	return flag + " is " + m.ours + " here"
}

// flagError names the flag to use here for one of other tools, or the one that was probably
// meant, and where the flags of a command are listed.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		dashes, name := "--", unknown.GetSpecifiedName()
		if word, _, _ := strings.Cut(unknown.GetSpecifiedShortnames(), "="); word != "" {
			dashes = "-"
			if text := meant(cmd, dashes, word); len(word) > 1 && text != "" { // with one dash, as of vegeta, hey and fortio
				name = word
			}
		}
		hint := meant(cmd, dashes, name)
		if hint == "" && cmd.Name() == "compare" {
			hint = ": quote a command that has flags, and put it after --, as in compare --url http://{{addr}}/ -- './a -l {{addr}}' './b -l {{addr}}'"
		}
		err = fmt.Errorf("unknown flag %s%s%s", dashes, name, hint)
	}
	return fmt.Errorf("%w (see %s --help)", err, cmd.CommandPath())
}

// meant follows the name of a flag that a command does not have.
func meant(cmd *cobra.Command, dashes, name string) string {
	if hint := misplaced[name]; hint != "" {
		return ": " + hint
	}
	var parts []string
	meanings := slices.DeleteFunc(slices.Clone(elsewhere[name]), func(m meaning) bool { return !has(cmd, m.ours) })
	for _, m := range meanings {
		which := ""
		if len(meanings) > 1 {
			which = " (" + m.what + ")"
		}
		parts = append(parts, m.instead(dashes+name, which))
	}
	if len(parts) > 0 {
		return ": " + strings.Join(parts, "; ")
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := setting.Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean --%s?", near)
	}
	return ""
}

// has reports whether a command has the flags that an answer names.
func has(cmd *cobra.Command, ours string) bool {
	for word := range strings.FieldsSeq(ours) {
		word = strings.TrimRight(word, ",;:")
		name := strings.TrimLeft(word, "-")
		switch {
		case strings.HasPrefix(word, "--") && cmd.Flags().Lookup(name) == nil,
			len(word) == 2 && word[0] == '-' && cmd.Flags().ShorthandLookup(name) == nil:
			return false
		}
	}
	return true
}
