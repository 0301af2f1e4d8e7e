package cli

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"contend/internal/secret"
	"contend/load"
	"contend/protocol/http"
	"contend/protocol/wire"
	"contend/report/abform"
	"contend/setting"
)

// abTimedRequests is how many requests -t allows.
const abTimedRequests = "50000"

// abFlags are the flags of ab, which are one letter each; the long names are
// ours. Defaults and limits are those of ab 2.3, except the last limit of time.
type abFlags struct {
	own *options
	abLoad
	abRequest
	abTLS
	abForm

	errs []error // so that all are reported at once
}

type abLoad struct {
	Requests    int    `flag:"requests,n" default:"1" min:"1" max:"2147483647" words:"*number* of requests"`
	Concurrency int    `flag:"concurrency,c" default:"1" min:"1" max:"200000" words:"*number* of requests at a time"`
	TimeLimit   int    `flag:"time-limit,t" min:"1" max:"2592000" words:"time limit in *seconds*; implies -n 50000, so give -n after it for more"`
	Timeout     int    `flag:"timeout,s" default:"30" min:"1" max:"2592000" words:"*seconds* to wait for each response"`
	Window      int    `flag:"window-size,b" min:"0" max:"2147483647" words:"*bytes* of the TCP send and receive buffers (default: the system's)"`
	Local       string `flag:"bind,B" words:"IP *address* to connect from"`
	KeepAlive   bool   `flag:"keep-alive,k" words:"keep connections alive (HTTP/1.0 with Keep-Alive)"`
	Patient     bool   `flag:"receive-errors,r" words:"continue if nothing responds; without it, 10 failures before the first response end the test"`
}

type abRequest struct {
	Head      bool     `flag:"head,i" words:"use HEAD instead of GET"`
	Method    string   `flag:"method,m" words:"use this *method*"`
	PostFile  string   `flag:"post-file,p" words:"*file* with the body of a POST"`
	PutFile   string   `flag:"put-file,u" words:"*file* with the body of a PUT"`
	MediaType string   `flag:"content-type,T" default:"text/plain" words:"Content-Type for -p and -u"`
	Cookies   []string `flag:"cookie,C" list:"repeat" words:"*name=value* of a cookie; repeatable"`
	Headers   []string `flag:"header,H" list:"repeat" words:"\"*Name: value*\" to send; repeatable"`
	Auth      string   `flag:"auth,A" words:"*user:password* for basic authentication"`
	ProxyAuth string   `flag:"proxy-auth,P" words:"*user:password* for basic authentication at the proxy"`
	Proxy     string   `flag:"proxy,X" words:"*host[:port]* of a proxy for an http URL"`
}

type abForm struct {
	Variable  bool   `flag:"variable-length,l" words:"allow responses of different lengths"`
	Gnuplot   string `flag:"gnuplot,g" words:"write every request's times to this *file*"`
	CSV       string `flag:"csv,e" words:"write the percentages served to this *file*"`
	NoTable   bool   `flag:"no-percentages,d" words:"omit the table of percentages served"`
	NoSpread  bool   `flag:"no-spread,S" words:"omit deviations, medians and the warnings about them"`
	Quiet     bool   `flag:"quiet,q" words:"omit the progress on standard error"`
	Verbosity int    `flag:"verbosity,v" words:"*level* 0 or 1"`
	HTML      bool   `flag:"html,w" words:"write the report as an HTML table"`
	Table     string `flag:"table-attributes,x" words:"*attributes* of the HTML table"`
	Row       string `flag:"row-attributes,y" words:"*attributes* of its rows"`
	Cell      string `flag:"cell-attributes,z" default:"bgcolor=white" words:"*attributes* of its entries"`
	Strict    bool   `flag:"strict-ab" words:"print whole milliseconds and count failures as ab does"`
	Version   bool   `flag:"version,V" words:"print the version"`
	output
}

func (f *abFlags) register(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	f.own = optionsOf(cmd, &f.abLoad, &f.abRequest, &f.abTLS, &f.abForm)
	limit := cmd.Flags().Lookup("time-limit")
	limit.Value = abTimeLimit{limit.Value.(setting.Flag), f.own}
}

// abTimeLimit is -t, which overrides an earlier -n.
type abTimeLimit struct {
	setting.Flag
	own *options
}

func (t abTimeLimit) Set(text string) error {
	t.own.given["requests"] = setting.Value{Texts: []string{abTimedRequests}}
	return t.Flag.Set(text)
}

// read reads the flags, whose mistakes it calls by their letters.
func (f *abFlags) read() {
	for _, s := range f.own.into {
		for _, m := range setting.Mistakes(setting.Fill(s, f.own.given, setting.InFlags)) {
			f.wrong("-%s %s", m.Setting.Short, m.Text())
		}
	}
	f.HTML = f.HTML || f.own.has("table-attributes") || f.own.has("row-attributes") || f.own.has("cell-attributes")
}

// learn tells the book of secrets those that the names of ab's flags do not give away.
func (f *abFlags) learn(book *secret.Book) {
	for _, pair := range []string{f.Auth, f.ProxyAuth} {
		_, password, _ := strings.Cut(pair, ":")
		book.Add("password", password)
		book.Add("authorization", basic(pair))
	}
	for _, cookie := range f.Cookies {
		book.Add("cookie", cookie)
	}
}

func (f *abFlags) wrong(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf(format, args...))
}

// job turns the flags into a job, or into every mistake in them.
func (f *abFlags) job(args []string) (*abJob, error) {
	job := &abJob{markup: abform.Markup{Table: f.Table, Row: f.Row, Cell: f.Cell}, out: f.output, html: f.HTML, quiet: f.Quiet, patient: f.Patient,
		gnuplot: f.Gnuplot, csv: f.CSV}
	job.form = abform.Form{VariableLength: f.Variable, KeepAlive: f.KeepAlive, HasBody: f.PostFile+f.PutFile != "",
		HidePercentages: f.NoTable, HideSpread: f.NoSpread, Strict: f.Strict}
	job.plan = load.Plan{VUs: f.Concurrency, Iterations: int64(f.Requests), Timeout: time.Duration(f.Timeout) * time.Second,
		Duration: time.Duration(f.TimeLimit) * time.Second, Grace: load.DefaultGrace}
	if f.Strict {
		job.plan.Grace = 0            // ab counts no request that -t cuts off
		job.plan.DespiteErrors = true // and any response is complete
	}
	f.combinations()
	address := f.address(args)
	job.config = f.request()
	f.place(job, address)
	_, err := http.New(job.config) // says what else is wrong
	return job, errors.Join(errors.Join(f.errs...), abWords(err))
}

// combinations finds what does not go together.
func (f *abFlags) combinations() {
	if f.Concurrency > max(1, f.Requests) {
		f.wrong("-c is %d, more than the %d requests of -n", f.Concurrency, f.Requests)
	}
	if f.Verbosity > 1 {
		f.wrong("-v is %d: levels above 1 print headers and handshakes during the measurement, which would distort it (use curl -v)", f.Verbosity)
	}
	var methods []string
	for _, m := range []struct {
		flag string
		set  bool
	}{{"-i", f.Head}, {"-p", f.PostFile != ""}, {"-u", f.PutFile != ""}} {
		if m.set {
			methods = append(methods, m.flag)
		}
	}
	if len(methods) > 1 {
		f.wrong("use only one of %s", setting.Or(methods))
	}
}

// address parses the URL as ab does: the scheme may be missing, the path not.
// Instead of a wrong one it returns a valid one, for the other mistakes.
func (f *abFlags) address(args []string) *url.URL {
	placeholder := &url.URL{Scheme: "http", Host: "localhost", Path: "/"}
	if len(args) != 1 {
		f.wrong("wrong number of arguments: expects one URL, got %d (see contend ab --help)", len(args))
		return placeholder
	}
	text := args[0]
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := wire.Parse(text)
	switch {
	case err != nil:
		f.wrong("invalid URL: %s", strings.TrimPrefix(err.Error(), "parse "))
	case u.Scheme != "http" && u.Scheme != "https":
		f.wrong("invalid URL %q: the scheme is neither http nor https", args[0])
	case u.Path == "":
		with := *u
		with.Path = "/"
		f.wrong("invalid URL %q: it has no path (%s has one)", args[0], with.Redacted())
	default:
		return u
	}
	return placeholder
}

// request builds what is sent, except to where.
func (f *abFlags) request() http.Config {
	c := http.Config{DisableKeepAlive: !f.KeepAlive, Method: f.Method,
		AB: http.AB{HTTP10: true, SameLength: !f.Variable, LocalAddress: f.Local, SocketBuffer: f.Window}}
	for status := 200; status < 300; status++ {
		c.ExpectStatus = append(c.ExpectStatus, status)
	}
	add := func(name, value string) { c.Header = append(c.Header, wire.Field{Name: name, Value: value}) }
	if len(f.Cookies) > 0 {
		add("Cookie", strings.Join(f.Cookies, "; "))
	}
	if f.Auth != "" {
		add("Authorization", basic(f.Auth))
	}
	if f.ProxyAuth != "" {
		add("Proxy-Authorization", basic(f.ProxyAuth))
	}
	f.body(&c)
	f.addHeaders(&c)
	f.errs = append(f.errs, f.abTLS.config(&c.TLS)...)
	return c
}

func basic(credentials string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(strings.TrimLeft(credentials, " \t")))
}

func (f *abFlags) body(c *http.Config) {
	method, flag, path := "", "", ""
	switch {
	case f.PostFile != "":
		method, flag, path = "POST", "-p", f.PostFile
	case f.PutFile != "":
		method, flag, path = "PUT", "-u", f.PutFile
	case f.Head:
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
		f.wrong("%s %w", flag, setting.CannotRead(path, err))
	}
	c.Header = append(c.Header, wire.Field{Name: "Content-Type", Value: f.MediaType})
}

// abAgent names the form first, since servers may know it, and who it is.
const abAgent = "ApacheBench/2.3 (contend)"

// addHeaders adds those of -H, and what ab sends where -H does not say it.
func (f *abFlags) addHeaders(c *http.Config) {
	given := map[string]bool{}
	for _, text := range f.Headers {
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
	if f.Proxy != "" {
		job.through = f.Proxy
		if _, _, err := net.SplitHostPort(f.Proxy); err != nil {
			job.through = net.JoinHostPort(f.Proxy, "80")
		}
		job.config.Proxy = job.through
	}
	if !secure {
		job.config.TLS = wire.TLS{}
		for _, flag := range f.abTLS.given() {
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
	if _, err := netip.ParseAddr(name); err != nil && !f.NoSNI {
		job.form.ServerName = name
	}
}

// abNames are the flags of ab for the settings of a request.
var abNames = map[string]string{"target": "URL", "method": "-m", "header": "-H", "LocalAddress": "-B", "SocketBuffer": "-b", "Proxy": "-X",
	"cert_file": "-E"}

// abWords calls settings by the flags of ab.
func abWords(err error) error {
	var errs []error
	for _, m := range setting.Mistakes(err) {
		m.Setting.Name = cmp.Or(abNames[m.Setting.Name], m.Setting.Name)
		errs = append(errs, m)
	}
	return errors.Join(errs...)
}
