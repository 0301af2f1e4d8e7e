package cli

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"contend/load"
	"contend/protocol/http"
	"contend/protocol/wire"
	"contend/report"
)

// The defaults and limits of ab 2.3, except the last, which is a plan's.
const (
	abTimeout        = 30 // seconds
	abTimedRequests  = 50000
	abMaxConcurrency = 200000
	abMaxSeconds     = 30 * 24 * 3600
)

// abFlags are the flags of ab, which are one letter each; the long names are
// ours.
type abFlags struct {
	requests, timeLimit, timeout int
	concurrency, window          int
	verbosity                    int
	local, proxy                 string
	postFile, putFile, mediaType string
	cookies, headers             []string
	method, auth, proxyAuth      string
	head, keepAlive, version     bool
	html, strict, quiet, patient bool
	variable, noTable, noSpread  bool
	gnuplot, csv                 string
	markup                       report.ABMarkup
	tls                          abTLS
	out                          output

	errs []error // of numbers, so that all are said at once
}

func (f *abFlags) register(cmd *cobra.Command) {
	*f = abFlags{requests: 1, concurrency: 1, timeout: abTimeout, markup: report.ABMarkup{Cell: "bgcolor=white"}}
	cmd.Flags().SortFlags = false
	f.loadFlags(cmd)
	f.requestFlags(cmd)
	f.tls.flags(cmd)
	f.reportFlags(cmd)
}

func (f *abFlags) loadFlags(cmd *cobra.Command) {
	set := cmd.Flags()
	set.FuncP("requests", "n", "`number` of requests (1)", f.number("n", &f.requests, 1, math.MaxInt32))
	set.FuncP("concurrency", "c", "`number` of requests at a time (1)", f.number("c", &f.concurrency, 1, abMaxConcurrency))
	set.FuncP("time-limit", "t", "`seconds` to spend at most; implies -n 50000, so give -n after it for more", func(text string) error {
		f.requests = abTimedRequests
		return f.number("t", &f.timeLimit, 1, abMaxSeconds)(text)
	})
	set.FuncP("timeout", "s", "`seconds` to wait for each answer (30)", f.number("s", &f.timeout, 1, abMaxSeconds))
	set.FuncP("window-size", "b", "`bytes` of the TCP send and receive buffers (the system's)", f.number("b", &f.window, 0, math.MaxInt32))
	set.StringVarP(&f.local, "bind", "B", "", "IP `address` to connect from")
	set.BoolVarP(&f.keepAlive, "keep-alive", "k", false, "keep connections alive (HTTP/1.0 with Keep-Alive)")
	set.BoolVarP(&f.patient, "receive-errors", "r", false, "go on where nothing answers; without it 10 failures before the first answer end the test")
}

func (f *abFlags) requestFlags(cmd *cobra.Command) {
	set := cmd.Flags()
	set.BoolVarP(&f.head, "head", "i", false, "use HEAD instead of GET")
	set.StringVarP(&f.method, "method", "m", "", "use this `method`")
	set.StringVarP(&f.postFile, "post-file", "p", "", "`file` that holds the body of a POST")
	set.StringVarP(&f.putFile, "put-file", "u", "", "`file` that holds the body of a PUT")
	set.StringVarP(&f.mediaType, "content-type", "T", "text/plain", "Content-Type of -p and -u")
	set.StringArrayVarP(&f.cookies, "cookie", "C", nil, "`name=value` of a cookie; may be repeated")
	set.StringArrayVarP(&f.headers, "header", "H", nil, "\"`Name: value`\" to send; may be repeated")
	set.StringVarP(&f.auth, "auth", "A", "", "`user:password` for basic authentication")
	set.StringVarP(&f.proxyAuth, "proxy-auth", "P", "", "`user:password` for basic authentication at the proxy")
	set.StringVarP(&f.proxy, "proxy", "X", "", "`host[:port]` of a proxy for an http URL")
}

func (f *abFlags) reportFlags(cmd *cobra.Command) {
	set := cmd.Flags()
	set.BoolVarP(&f.variable, "variable-length", "l", false, "answers may differ in length")
	set.StringVarP(&f.gnuplot, "gnuplot", "g", "", "write every request's times to this `file`")
	set.StringVarP(&f.csv, "csv", "e", "", "write the percentages served to this `file`")
	set.BoolVarP(&f.noTable, "no-percentages", "d", false, "leave out the table of percentages served")
	set.BoolVarP(&f.noSpread, "no-spread", "S", false, "leave out deviations, medians and the warnings beside them")
	set.BoolVarP(&f.quiet, "quiet", "q", false, "leave out the progress on standard error")
	set.FuncP("verbosity", "v", "`level` 0 or 1 (0)", f.number("v", &f.verbosity, math.MinInt32, math.MaxInt32))
	set.BoolVarP(&f.html, "html", "w", false, "write the report as an HTML table")
	set.FuncP("table-attributes", "x", "`attributes` of the HTML table", f.markupOf(&f.markup.Table))
	set.FuncP("row-attributes", "y", "`attributes` of its rows", f.markupOf(&f.markup.Row))
	set.FuncP("cell-attributes", "z", "`attributes` of its cells", f.markupOf(&f.markup.Cell))
	set.BoolVar(&f.strict, "strict-ab", false, "print whole milliseconds and count as ab does")
	set.BoolVarP(&f.version, "version", "V", false, "print the version")
	f.out.flags(cmd)
}

// number parses a flag of ab. A mistake is kept for later.
func (f *abFlags) number(flag string, to *int, low, high int) func(string) error {
	return func(text string) error {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < low || n > high {
			f.wrong("-%s is %q, allowed are %d to %d", flag, text, low, high)
			return nil
		}
		*to = n
		return nil
	}
}

func (f *abFlags) markupOf(to *string) func(string) error {
	return func(text string) error {
		f.html, *to = true, text
		return nil
	}
}

func (f *abFlags) wrong(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

// job turns the flags into a job, or into every mistake in them.
func (f *abFlags) job(args []string) (*abJob, error) {
	job := &abJob{markup: f.markup, out: f.out, html: f.html, quiet: f.quiet, patient: f.patient,
		gnuplot: f.gnuplot, csv: f.csv}
	job.form = report.AB{VariableLength: f.variable, KeepAlive: f.keepAlive, HasBody: f.postFile+f.putFile != "",
		HidePercentages: f.noTable, HideSpread: f.noSpread, Strict: f.strict}
	job.plan = load.Plan{VUs: f.concurrency, Iterations: int64(f.requests), Timeout: time.Duration(f.timeout) * time.Second,
		Duration: time.Duration(f.timeLimit) * time.Second}
	f.combinations()
	address := f.address(args)
	job.config = f.request()
	f.place(job, address)
	_, err := http.New(job.config) // says what else is wrong
	return job, errors.Join(errors.Join(f.errs...), abWords(err))
}

// combinations finds what does not go together.
func (f *abFlags) combinations() {
	if f.concurrency > f.requests {
		f.wrong("-c is %d, more than the %d requests of -n", f.concurrency, f.requests)
	}
	if f.verbosity > 1 {
		f.wrong("-v is %d: levels above 1 print headers and handshakes amid the measurement, which would change it (curl -v shows them)", f.verbosity)
	}
	var methods []string
	for _, m := range []struct {
		flag string
		set  bool
	}{{"-i", f.head}, {"-p", f.postFile != ""}, {"-u", f.putFile != ""}} {
		if m.set {
			methods = append(methods, m.flag)
		}
	}
	if len(methods) > 1 {
		f.wrong("%s exclude each other", strings.Join(methods, " and "))
	}
}

// address parses the URL as ab does: the scheme may be missing, the path not.
// In place of a wrong one it returns one that is right, for the other mistakes.
func (f *abFlags) address(args []string) *url.URL {
	placeholder := &url.URL{Scheme: "http", Host: "localhost", Path: "/"}
	if len(args) != 1 {
		f.wrong("wrong number of arguments: need one URL, have %d (contend ab --help shows examples)", len(args))
		return placeholder
	}
	text := args[0]
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		f.wrong("invalid URL: %s", strings.TrimPrefix(err.Error(), "parse "))
	case u.Scheme != "http" && u.Scheme != "https":
		f.wrong("invalid URL %q: the scheme is neither http nor https", args[0])
	case u.Path == "":
		f.wrong("invalid URL %q: it has no path (%s/ has one)", args[0], args[0])
	default:
		return u
	}
	return placeholder
}

// request builds what is sent, except to where.
func (f *abFlags) request() http.Config {
	c := http.Config{HTTP10: true, DisableKeepAlive: !f.keepAlive, SameLength: !f.variable,
		LocalAddress: f.local, SocketBuffer: f.window, Method: f.method}
	for status := 200; status < 300; status++ {
		c.ExpectStatus = append(c.ExpectStatus, status)
	}
	add := func(name, value string) { c.Header = append(c.Header, wire.Field{Name: name, Value: value}) }
	if len(f.cookies) > 0 {
		add("Cookie", strings.Join(f.cookies, "; "))
	}
	if f.auth != "" {
		add("Authorization", basic(f.auth))
	}
	if f.proxyAuth != "" {
		add("Proxy-Authorization", basic(f.proxyAuth))
	}
	f.body(&c)
	f.addHeaders(&c)
	f.errs = append(f.errs, f.tls.config(&c.TLS)...)
	return c
}

func basic(credentials string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(strings.TrimLeft(credentials, " \t")))
}

func (f *abFlags) body(c *http.Config) {
	method, flag, path := "", "", ""
	switch {
	case f.postFile != "":
		method, flag, path = "POST", "-p", f.postFile
	case f.putFile != "":
		method, flag, path = "PUT", "-u", f.putFile
	case f.head:
		method = "HEAD"
	}
	if c.Method == "" { // -m wins
		c.Method = method
	}
	if path == "" {
		return
	}
	var err error
	if c.Body, err = os.ReadFile(path); err != nil {
		f.wrong("%s: %w", flag, err)
	}
	c.Header = append(c.Header, wire.Field{Name: "Content-Type", Value: f.mediaType})
}

// abAgent names the form first, since servers may know it, and who it is.
const abAgent = "ApacheBench/2.3 (contend)"

// addHeaders adds those of -H, and what ab sends where -H does not say it.
func (f *abFlags) addHeaders(c *http.Config) {
	given := map[string]bool{}
	for _, text := range f.headers {
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			f.wrong("-H %q is not of the form \"Name: value\"", text)
			continue
		}
		given[strings.ToLower(name)] = true
		c.Header = append(c.Header, wire.Field{Name: name, Value: strings.TrimSpace(value)})
	}
	for _, field := range []wire.Field{{Name: "User-Agent", Value: abAgent}, {Name: "Accept", Value: "*/*"}} {
		if !given[strings.ToLower(field.Name)] {
			c.Header = append(c.Header, field)
		}
	}
}

// place says where the request goes and how the form names that.
func (f *abFlags) place(job *abJob, u *url.URL) {
	job.config.URL, job.url = u.String(), u.Redacted()
	job.form.Host, job.form.Path = u.Hostname(), u.RequestURI()
	secure := u.Scheme == "https"
	port := u.Port()
	if port == "" {
		port = map[bool]string{false: "80", true: "443"}[secure]
	}
	job.form.Port, _ = strconv.Atoi(port)
	if f.proxy != "" {
		job.through = f.proxy
		if _, _, err := net.SplitHostPort(f.proxy); err != nil {
			job.through = net.JoinHostPort(f.proxy, "80")
		}
		job.config.Proxy = job.through
	}
	if !secure {
		job.config.TLS = wire.TLS{}
		for _, flag := range f.tls.given() {
			job.warnings = append(job.warnings, flag+" has no effect on an http URL")
		}
		return
	}
	name := u.Hostname()
	for _, field := range job.config.Header {
		if strings.EqualFold(field.Name, "Host") {
			name = field.Value
			job.config.TLS.ServerName = name
		}
	}
	if _, err := netip.ParseAddr(name); err != nil && !f.tls.noSNI {
		job.form.ServerName = name
	}
}

// abWords puts ab's flags in place of the fields' names.
func abWords(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.NewReplacer("http: LocalAddress", "-B", "http: SocketBuffer", "-b", "http: Proxy", "-X",
		"http: Method", "-m", "http: Header", "-H", "http: TLS.Certificate and TLS.Key:", "-E:", "http: ", "").Replace(err.Error()))
}
