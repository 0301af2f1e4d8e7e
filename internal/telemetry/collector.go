package telemetry

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"contend/protocol/wire"
	"contend/setting"
)

// A Collector is the URL of an OpenTelemetry collector: http or https for OTLP over HTTP, grpc or
// grpcs for OTLP over gRPC. The zero value means no collector.
type Collector string

// secure says for each scheme whether it is over TLS.
var secure = map[string]bool{"http": false, "https": true, "grpc": false, "grpcs": true}

// UnmarshalText reads the URL, without user information, as URLs are printed. Over HTTP its path
// gets the one of metrics at its end, if it has none, and over gRPC the usual port.
func (c *Collector) UnmarshalText(text []byte) error {
	*c = ""
	if len(text) == 0 {
		return nil
	}
	u, err := url.Parse(string(text))
	known := false
	if err == nil {
		_, known = secure[u.Scheme]
	}
	over := err == nil && strings.HasPrefix(u.Scheme, "grpc")
	if !known || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || over && strings.Trim(u.Path, "/") != "" {
		return setting.NotAllowed(wire.HideUser(string(text)), "http://HOST:4318, https://HOST[/PATH], grpc://HOST:4317 or grpcs://HOST; tokens belong in OTEL_EXPORTER_OTLP_HEADERS")
	}
	switch {
	case over && u.Port() == "":
		u.Host, u.Path = net.JoinHostPort(u.Hostname(), "4317"), ""
	case over:
		u.Path = ""
	case !strings.HasSuffix(u.Path, metricsPath):
		u.Path = strings.TrimSuffix(u.Path, "/") + metricsPath
	}
	*c = Collector(u.String())
	return nil
}

// metricsPath is that of OTLP over HTTP.
const metricsPath = "/v1/metrics"

// Config is how figures are sent to a Collector.
type Config struct {
	Collector Collector
	// Headers go with each export, as tokens do.
	Headers map[string]string
	// CA holds the trusted authorities in PEM form; empty: the system's.
	CA []byte
	// Delta has each export tell what came since the one before, and not since the beginning.
	Delta bool
	// Every is the time between exports.
	Every time.Duration
	// Resource describes the source of the readings: service.name, and so on.
	Resource map[string]string
}

// usualEvery is how often is sent unless it is asked for: as often as there is something new.
const usualEvery = time.Second

// Configure reads what OpenTelemetry's environment variables ask for: headers, authorities,
// temporality, interval and attributes of the resource, which are added to those given. What
// they ask for of metrics comes before what they do of all. The errors name the variable, and
// no header's value.
func (c Collector) Configure(lookup func(string) (string, bool), resource map[string]string) (Config, error) {
	config := Config{Collector: c, Every: usualEvery, Resource: resource}
	env := func(name string) string { v, _ := lookup(name); return strings.TrimSpace(v) }
	both := func(name string) (variable, text string) {
		if v := env("OTEL_EXPORTER_OTLP_METRICS_" + name); v != "" {
			return "OTEL_EXPORTER_OTLP_METRICS_" + name, v
		}
		return "OTEL_EXPORTER_OTLP_" + name, env("OTEL_EXPORTER_OTLP_" + name)
	}
	var err error
	variable, text := both("HEADERS")
	if config.Headers, err = pairs(text); err != nil {
		return config, fmt.Errorf("%s: %w", variable, err)
	}
	const attributes, temporality, interval = "OTEL_RESOURCE_ATTRIBUTES", "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "OTEL_METRIC_EXPORT_INTERVAL"
	more, err := pairs(env(attributes))
	if err != nil {
		return config, fmt.Errorf("%s: %w", attributes, err)
	}
	maps.Copy(config.Resource, more)
	if variable, path := both("CERTIFICATE"); path != "" {
		if config.CA, err = os.ReadFile(path); err != nil {
			return config, fmt.Errorf("%s: %w", variable, err)
		}
	}
	switch preference := strings.ToLower(cmp.Or(env(temporality), "cumulative")); preference {
	case "delta", "lowmemory": // which is delta for all that we send
		config.Delta = true
	case "cumulative":
	default:
		return config, fmt.Errorf("%s is %q; expected cumulative, delta, lowmemory", temporality, preference)
	}
	if text := env(interval); text != "" {
		ms, err := strconv.ParseInt(text, 10, 32)
		if err != nil || ms < 1 {
			return config, fmt.Errorf("%s is %q; expected milliseconds, 1 or more", interval, text)
		}
		config.Every = time.Duration(ms) * time.Millisecond
	}
	return config, nil
}

// pairs reads a list as in key=value,key=value with values that may be percent-encoded.
func pairs(text string) (map[string]string, error) {
	list := map[string]string{}
	for i, pair := range strings.Split(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, found := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !found || err != nil || key == "" || !wire.IsVisible(key) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, fmt.Errorf("entry %d is not a key=value with a percent-encoded value; expected key=value,key=value", i+1)
		}
		list[key] = value
	}
	return list, nil
}
