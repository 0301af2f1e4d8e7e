package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"contend/load"
	"contend/setting"
)

// Options are what a script's options say. Zero means not set, except where defaults are named.
type Options struct {
	// Load is the only scenario, or the load without any.
	Load
	// Scenarios are those that there are, in the order of their names.
	Scenarios []Load
	// UserAgent is sent unless a request says otherwise; "": contend.
	UserAgent string
	// Insecure accepts any certificate.
	Insecure bool
	// Redirects is how many are followed; the default is 10.
	Redirects int
	// NoReuse opens a connection for each request; NoIterationReuse for each iteration.
	NoReuse, NoIterationReuse bool
	// DiscardBodies leaves bodies out of answers unless a request says otherwise.
	DiscardBodies bool
	// Throw has a request without an answer be an exception.
	Throw bool
	// RequestsPerSec bounds the requests of HTTP of all virtual users; 0: no limit.
	RequestsPerSec float64
	// KeepCookies keeps them from one iteration to the next.
	KeepCookies bool
	// Batch is how many requests of a batch are sent at a time, 20 by default, and BatchPerHost
	// to one host, 6 by default.
	Batch, BatchPerHost int
	// Hosts are addresses by the names that the script asks.
	Hosts map[string]string
	// Thresholds are claims about what is measured.
	Thresholds []Threshold
	// TrendStats are the figures of trends in summaries.
	TrendStats []string
	// SetupTimeout and TeardownTimeout bound these functions, 60 s by default.
	SetupTimeout, TeardownTimeout time.Duration

	certificates []clientCertificate
	connecting   netOptions

	// LeastIteration is how long an iteration lasts at least, with a pause after it.
	LeastIteration time.Duration
	// NoSetup and NoTeardown leave these functions out.
	NoSetup, NoTeardown bool

	given    map[string]json.RawMessage // by the names that options have here
	warnings []string

	tags   map[string]string // of all that is measured
	system []string          // the tags of the system that what is measured has; nil: the usual ones
	stages []stage
	plain  Load // what vus, iterations and duration say, without stages
}

// Defaults, as the form of these scripts has them.
const (
	defaultRedirects = 10
	defaultBatch     = 20
	defaultPerHost   = 6
	defaultLimit     = time.Minute
)

// A reader reads one option.
type reader func(o *Options, raw json.RawMessage) error

// into reads an option into a field.
func into[T any](field func(*Options) *T) reader {
	return func(o *Options, raw json.RawMessage) error { return decode(raw, field(o)) }
}

// optionReaders are the options that there are.
var optionReaders = map[string]reader{
	"vus":                   number(func(o *Options) *int { return &o.VUs }),
	"iterations":            number(func(o *Options) *int64 { return &o.Iterations }),
	"duration":              duration(func(o *Options) *time.Duration { return &o.Duration }),
	"stages":                (*Options).readStages,
	"scenarios":             (*Options).readScenarios,
	"userAgent":             into(func(o *Options) *string { return &o.UserAgent }),
	"insecureSkipTLSVerify": into(func(o *Options) *bool { return &o.Insecure }),
	"maxRedirects":          number(func(o *Options) *int { return &o.Redirects }),
	"noConnectionReuse":     into(func(o *Options) *bool { return &o.NoReuse }),
	"noVUConnectionReuse":   into(func(o *Options) *bool { return &o.NoIterationReuse }),
	"discardResponseBodies": into(func(o *Options) *bool { return &o.DiscardBodies }),
	"rps":                   (*Options).readRPS,
	"tlsAuth":               (*Options).readTLSAuth,
	"throw":                 into(func(o *Options) *bool { return &o.Throw }),
	"noCookiesReset":        into(func(o *Options) *bool { return &o.KeepCookies }),
	"batch":                 number(func(o *Options) *int { return &o.Batch }),
	"batchPerHost":          number(func(o *Options) *int { return &o.BatchPerHost }),
	"tlsVersion":            (*Options).readTLSVersion,
	"tlsCipherSuites":       (*Options).readTLSSuites,
	"dns":                   (*Options).readDNS,
	"blacklistIPs":          (*Options).readRefused,
	"blockHostnames":        (*Options).readBlocked,
	"minIterationDuration":  duration(func(o *Options) *time.Duration { return &o.LeastIteration }),
	"noSetup":               into(func(o *Options) *bool { return &o.NoSetup }),
	"noTeardown":            into(func(o *Options) *bool { return &o.NoTeardown }),
	"paused":                (*Options).readPaused,
	"httpDebug":             (*Options).readDebug,
	"hosts":                 (*Options).readHosts,
	"tags":                  (*Options).readTags,
	"summaryTrendStats":     (*Options).readTrendStats,
	"systemTags":            (*Options).readSystemTags,
	"setupTimeout":          duration(func(o *Options) *time.Duration { return &o.SetupTimeout }),
	"teardownTimeout":       duration(func(o *Options) *time.Duration { return &o.TeardownTimeout }),
}

// idle are options about the form of another tool's own summary: they change nothing here.
var idle = []string{"summaryTimeUnit", "noUsageReport", "cloud", "ext", "metricSamplesBufferSize"}

// segments are options that divide a load; here workers do.
var segments = []string{"executionSegment", "executionSegmentSequence"}

// ofThresholds is the option that is read with what the script measures.
const ofThresholds = "thresholds"

func duration(field func(*Options) *time.Duration) reader {
	return func(o *Options, raw json.RawMessage) (err error) {
		*field(o), err = readDuration(raw)
		return err
	}
}

// readDuration reads "1m30s", or a number of milliseconds.
func readDuration(raw json.RawMessage) (time.Duration, error) {
	var text string
	if ms, err := strconv.ParseFloat(string(raw), 64); err == nil {
		return time.Duration(ms * float64(time.Millisecond)), nil
	}
	if err := json.Unmarshal(raw, &text); err != nil {
		return 0, fmt.Errorf("is %s; expected a duration, as in \"30s\"", raw)
	}
	if ms, err := strconv.ParseFloat(text, 64); err == nil {
		return time.Duration(ms * float64(time.Millisecond)), nil
	}
	days, rest, found := strings.Cut(text, "d")
	if !found {
		days, rest = "0", text
	}
	n, err := strconv.Atoi(days)
	d := time.Duration(0)
	if err == nil && rest != "" {
		d, err = time.ParseDuration(rest)
	}
	if err != nil {
		return 0, fmt.Errorf("is %q; expected a duration, as in \"30s\"", text)
	}
	return d + time.Duration(n)*24*time.Hour, nil
}

// decode reads a value of JSON; the error says what is allowed instead.
func decode[T any](raw json.RawMessage, into *T) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Errorf("%s is %s; expected %s", wrong.Field, wrong.Value, kindOf(wrong.Type))
	case errors.As(err, &wrong):
		return fmt.Errorf("is %s; expected %s", raw, kindOf(wrong.Type))
	case err != nil:
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// readOptions reads the script's options, and reports every mistake in them.
func (v *vu) readOptions() (Options, error) {
	o := Options{Load: Load{Grace: defaultGrace}, Redirects: defaultRedirects, Batch: defaultBatch, BatchPerHost: defaultPerHost, SetupTimeout: defaultLimit, TeardownTimeout: defaultLimit}
	value := v.exports.Get("options")
	if value == nil || sobek.IsUndefined(value) || sobek.IsNull(value) {
		return o, nil
	}
	text, err := v.stringify(sobek.Undefined(), value)
	if err != nil {
		return o, v.explain(err)
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text.String()), &given); err != nil {
		return o, fmt.Errorf("options is no object: %s", text)
	}
	var errs []error
	o.given = map[string]json.RawMessage{}
	for _, as := range slices.Sorted(maps.Keys(given)) {
		name := optionNamed(as)
		if string(given[as]) == "null" || slices.Contains(idle, name) {
			continue
		}
		o.given[name] = given[as]
		switch read, known := optionReaders[name]; {
		case name == ofThresholds:
			o.Thresholds, err = v.target.readThresholds(given[as])
			errs = append(errs, v.target.optionError(as, err))
		case slices.Contains(segments, name):
			errs = append(errs, v.target.optionError(as, errors.New("is not possible: contend fleet divides a load among workers")))
		case !known:
			delete(o.given, name)
			o.warnings = append(o.warnings, fmt.Sprintf("%soptions.%s is ignored, as it is not known%s", v.target.bundle.lineOf(as), as, meant(as, slices.Collect(maps.Keys(optionReaders)))))
		default:
			errs = append(errs, v.target.optionError(as, read(&o, given[as])))
		}
	}
	errs = append(errs, o.validate(), v.target.optionError("scenarios", o.choose(v.target.config.Scenario, v.hasFunction)))
	errs = append(errs, v.target.optionError("stages", o.settle()))
	return o, errors.Join(errs...)
}

func (v *vu) hasFunction(name string) bool {
	_, ok := sobek.AssertFunction(v.exports.Get(name))
	return ok
}

// DefaultScenario is the name of what a script without scenarios has. Chosen of one that has some, and none
// of that name, it puts them aside.
const DefaultScenario = "default"

// choose takes the scenario of that name for the only one, and where there is only one, that.
// It refuses functions that there are not.
func (o *Options) choose(name string, has func(string) bool) error {
	i := slices.IndexFunc(o.Scenarios, func(l Load) bool { return l.Name == name })
	switch {
	case name == "":
	case i >= 0:
		o.Scenarios = o.Scenarios[i : i+1]
	case name != DefaultScenario:
		return fmt.Errorf("has no %q, which --scenario names; it has %s", name, strings.Join(o.Names(), ", "))
	case len(o.Scenarios) > 0 && !has(DefaultScenario):
		return fmt.Errorf("cannot be put aside for flags, as the script exports no default function; --scenario chooses one of %s", strings.Join(o.Names(), ", "))
	default:
		o.Scenarios = nil
	}
	if len(o.Scenarios) == 1 {
		o.Load = o.Scenarios[0]
	}
	var errs []error
	for _, l := range o.loads() {
		if l.Exec != "" && !has(l.Exec) {
			errs = append(errs, fmt.Errorf("%s: exec is %q, which the script does not export as a function", l.Name, l.Exec))
		}
	}
	return errors.Join(errs...)
}

// loads are the scenarios, or what takes their place.
func (o *Options) loads() []Load {
	if len(o.Scenarios) == 0 {
		return []Load{o.Load}
	}
	return o.Scenarios
}

// Names returns those of the scenarios.
func (o *Options) Names() (all []string) {
	for _, l := range o.Scenarios {
		all = append(all, l.Name)
	}
	return all
}

// optionError says where a wrong option is; nil: all are right.
func (t *Target) optionError(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%soptions.%s %w", t.bundle.lineOf(name), name, err)
}

func (o *Options) readTrendStats(raw json.RawMessage) error {
	if err := decode(raw, &o.TrendStats); err != nil {
		return err
	}
	for _, stat := range o.TrendStats {
		if !load.HasMeterStat(load.TrendMeter, stat) {
			return fmt.Errorf("has %q; expected %s", stat, strings.Join(load.MeterStats(load.TrendMeter), ", "))
		}
	}
	return nil
}

// meant suggests a name that is near.
func meant(name string, names []string) string {
	if near := setting.Nearest(name, names); near != "" {
		return fmt.Sprintf(": did you mean %s?", near)
	}
	return "; docs/scripts.md lists those that are"
}

func (o *Options) validate() error {
	var errs []error
	for _, field := range []struct {
		name  string
		value int
	}{{"vus", o.VUs}, {"iterations", int(o.Iterations)}, {"maxRedirects", o.Redirects}, {"batch", o.Batch}, {"batchPerHost", o.BatchPerHost}} {
		if field.value < 0 {
			errs = append(errs, fmt.Errorf("options.%s is %d; expected 0 or more", field.name, field.value))
		}
	}
	return errors.Join(errs...)
}

func (o *Options) readHosts(raw json.RawMessage) error {
	if err := decode(raw, &o.Hosts); err != nil {
		return err
	}
	for name, address := range o.Hosts {
		host := address
		if h, _, err := net.SplitHostPort(address); err == nil {
			host = h
		}
		if net.ParseIP(host) == nil {
			return fmt.Errorf("has %q for %s; expected an IP address, perhaps with a port", address, name)
		}
	}
	return checkPatterns(slices.Collect(maps.Keys(o.Hosts)))
}

// address returns what is dialled for host:port.
func (o *Options) address(hostPort string) string {
	to, ok := o.Hosts[hostPort]
	host, port, err := net.SplitHostPort(hostPort)
	if !ok && err == nil && len(o.Hosts) > 0 {
		to, ok = o.Hosts[matching(slices.Collect(maps.Keys(o.Hosts)), host)]
	}
	if !ok {
		return hostPort
	}
	if _, _, err := net.SplitHostPort(to); err == nil {
		return to
	}
	return net.JoinHostPort(to, port)
}
