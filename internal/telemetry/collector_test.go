package telemetry

import (
	"strings"
	"testing"
	"time"
)

func TestCollectorURL(t *testing.T) {
	for text, want := range map[string]Collector{
		"":                      "",
		"http://localhost:4318": "http://localhost:4318/v1/metrics",
		"http://c:4318/":        "http://c:4318/v1/metrics",
		"https://c/v1/metrics":  "https://c/v1/metrics",
		"https://c/otlp/":       "https://c/otlp/v1/metrics",
		"grpc://c":              "grpc://c:4317",
		"grpcs://[::1]:443/":    "grpcs://[::1]:443",
	} {
		var c Collector
		if err := c.UnmarshalText([]byte(text)); err != nil || c != want {
			t.Errorf("%q is %q, %v; want %q", text, c, err, want)
		}
	}
	for _, text := range []string{"localhost:4318", "ftp://c", "http://", "http://u:secret@c", "grpc://c/v1/metrics", "http://c?token=secret", "%"} {
		var c Collector
		if err := c.UnmarshalText([]byte(text)); err == nil || c != "" || strings.Contains(err.Error(), ":secret@") {
			t.Errorf("%q is %q, %v", text, c, err)
		}
	}
}

func TestConfigure(t *testing.T) {
	env := map[string]string{
		"OTEL_EXPORTER_OTLP_HEADERS": "a=1, b = x%20y,", "OTEL_RESOURCE_ATTRIBUTES": "service.name=mine,team=x",
		"OTEL_METRIC_EXPORT_INTERVAL": "2500", "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "Delta",
	}
	lookup := func(name string) (string, bool) { text, ok := env[name]; return text, ok }
	c, err := Collector("http://c").Configure(lookup, map[string]string{"service.name": "contend", "k": "v"})
	if err != nil || c.Headers["a"] != "1" || c.Headers["b"] != "x y" || len(c.Headers) != 2 || !c.Delta || c.Every != 2500*time.Millisecond ||
		c.Resource["service.name"] != "mine" || c.Resource["k"] != "v" || c.Resource["team"] != "x" {
		t.Errorf("%+v, %v", c, err)
	}
	env["OTEL_EXPORTER_OTLP_METRICS_HEADERS"] = "c=3"
	if c, err = Collector("http://c").Configure(lookup, map[string]string{}); err != nil || len(c.Headers) != 1 || c.Headers["c"] != "3" {
		t.Errorf("%+v, %v", c, err)
	}
	for name, wrong := range map[string]string{
		"OTEL_EXPORTER_OTLP_METRICS_HEADERS": "authorization:secret", "OTEL_RESOURCE_ATTRIBUTES": "=x", "OTEL_METRIC_EXPORT_INTERVAL": "1s",
		"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "both", "OTEL_EXPORTER_OTLP_CERTIFICATE": "/nowhere/ca.pem",
	} {
		before := env[name]
		env[name] = wrong
		if _, err := Collector("http://c").Configure(lookup, map[string]string{}); err == nil || !strings.HasPrefix(err.Error(), name) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s=%s: %v", name, wrong, err)
		}
		env[name] = before
	}
}

func FuzzCollector(f *testing.F) {
	f.Add("http://c:4318", "a=1,b=%41")
	f.Fuzz(func(t *testing.T, address, list string) {
		var c Collector
		if c.UnmarshalText([]byte(address)) == nil && c != "" {
			var again Collector
			if err := again.UnmarshalText([]byte(c)); err != nil || again != c {
				t.Errorf("%q is %q, and that is %q, %v", address, c, again, err)
			}
		}
		if _, err := pairs(list); err != nil && !strings.HasPrefix(err.Error(), "entry ") {
			t.Error(err)
		}
	})
}
