package grpc

import (
	"path/filepath"
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

func TestParseAddress(t *testing.T) {
	for _, test := range []struct {
		url  string
		want address
		fail string // part of the error
	}{
		{"grpc://h:1/p.S/M", address{"h:1", false, "p.S", "M"}, ""},
		{"grpcs://h:1/p.S/M", address{"h:1", true, "p.S", "M"}, ""},
		{"grpc://h:1/a.b.S.M", address{"h:1", false, "a.b.S", "M"}, ""},
		{"grpc://h:1/S/M", address{"h:1", false, "S", "M"}, ""},
		{"grpc://[::1]:1/p.S/M", address{"[::1]:1", false, "p.S", "M"}, ""},
		{"http://h:1/p.S/M", address{}, "scheme"},
		{"grpc://h/p.S/M", address{}, "port"},
		{"grpc://:1/p.S/M", address{}, "host"},
		{"grpc://h:1", address{}, "no method"},
		{"grpc://h:1/M", address{}, "no method"},
		{"grpc://h:1/p.S/M/N", address{}, "no method"},
		{"grpc://h:1/p.S/", address{}, "no method"},
		{"grpc://u@h:1/p.S/M", address{}, "only host"},
		{"grpc://u:secret@h:1/p.S/M", address{}, `"grpc://…@h:1/p.S/M"`},
		{"grpc://u:secret@h:x/p.S/M", address{}, "not a URL"},
		{"u:secret@h", address{}, `"…@h"`},
		{"grpc://h:1/p.S/M?x=1", address{}, "only host"},
		{"grpc://h:x/p.S/M", address{}, `target is "grpc://h:x/p.S/M": invalid port ":x" after host; expected grpc://`},
	} {
		got, err := parseAddress(test.url)
		if test.fail == "" && (err != nil || got != test.want) {
			t.Errorf("%s: got %+v, %v", test.url, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%v: tells the secret", err)
		}
		if test.fail != "" && (err == nil || !strings.Contains(err.Error(), test.fail)) {
			t.Errorf("%s: error %v, want %q in it", test.url, err, test.fail)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add("grpc://h:1/p.S/M")
	f.Add("grpcs://[::1]:1/p.S.M")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseAddress(text)
		if err == nil && (a.hostPort == "" || !a.service.IsValid() || !a.method.IsValid()) {
			t.Errorf("%q gives %+v", text, a)
		}
	})
}

func TestCheckMetadata(t *testing.T) {
	for _, test := range []struct {
		key, value string
		want       string // part of the error
	}{
		{"tenant", "a b", ""},
		{"x-1_2.3", "", ""},
		{"trace-bin", "\x00\xff", ""},
		{"Tenant", "a", "lower-case"},
		{"", "a", "lower-case"},
		{":path", "/", "lower-case"},
		{"grpc-timeout", "1S", "reserved"},
		{"content-type", "text/plain", "itself"},
		{"content-length", "5", "itself"},
		{"connection", "close", "HTTP/2 does not allow"},
		{"transfer-encoding", "chunked", "HTTP/2 does not allow"},
		{"tenant", "aä", `'ä' at byte 1`},
		{"tenant", "a\nb", "printable"},
	} {
		err := (&Config{Metadata: map[string][]string{test.key: {test.value}}}).checkMetadata()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q = %q: %v, want %q in it", test.key, test.value, err, test.want)
		}
	}
}

// A mistake in the configuration is found before the server is asked where
// that is possible, and names what is wrong.
func TestMistakes(t *testing.T) {
	address := counterAt(t, nil)
	for _, test := range []struct {
		name  string
		alter func(*Config)
		want  []string // parts of the error
	}{
		{"unknown field", func(c *Config) { c.Data = []byte(`{"valu": 1}`) }, []string{`"valu"`, "value (int32)"}},
		{"wrong type", func(c *Config) { c.Data = []byte(`{"value": "ten"}`) }, []string{"value", `"ten"`, "int32"}},
		{"out of range", func(c *Config) { c.Data = []byte(`{"value": 2147483648}`) }, []string{"value", "2147483648"}},
		{"no JSON", func(c *Config) { c.Data = []byte(`{`) }, []string{"data", "incrementBy"}},
		{"no such file", func(c *Config) { c.ProtoFiles = []string{"testdata/none.proto"} }, []string{"proto: ", "none.proto"}},
		{"no such service", func(c *Config) { c.URL = "grpc://" + address + "/counter.Counter/increment" }, []string{"counter.Counter", "counter.incrementCounter"}},
		{"no such method", func(c *Config) { c.URL = "grpc://" + address + "/counter.incrementCounter/add" }, []string{"target asks for the method add", "increment, watch"}},
		{"two messages", func(c *Config) { c.Data = []byte(`[{"value": 1}, {"value": 2}]`) }, []string{"2 messages", "unary"}},
		{"no message", func(c *Config) { c.Data = []byte(`[]`) }, []string{"data: for counter.incrementBy: an empty array"}},
		{"messages of a unary method", func(c *Config) { c.Messages = 2 }, []string{"messages is 2", "unary"}},
		{"negative", func(c *Config) { c.Messages, c.Deadline, c.MaxMessage = -1, -1, -1 }, []string{"messages is -1; expected 0 or more", "deadline is -1ns", "max_message is -1"}},
		{"stream of a unary method", func(c *Config) { c.Stream = PerVU }, []string{"unary", "bidirectional"}},
		{"held and closed", func(c *Config) { c.Stream, c.Connections.Sharing = PerVU, wire.PerIteration }, []string{"per-iteration", "outlives"}},
		{"held and bounded", func(c *Config) { c.Stream, c.Deadline = PerVU, 1 }, []string{"deadline", "outlives"}},
		{"all at once", func(c *Config) { c.URL, c.ExpectCode, c.TLS.Insecure = "grpc://h", 99, true }, []string{"no host and port", "99", "grpcs"}},
		{"half a client certificate", func(c *Config) { secure(c); c.TLS.Certificate = []byte("x") }, []string{"cert_file: tls: failed to find any PEM data"}},
		{"code", func(c *Config) { c.ExpectCode = 17 }, []string{"17", "expect_status is 17; expected 0 to 16"}},
		{"pool", func(c *Config) { c.Connections.N = -1 }, []string{"-1"}},
		{"mode", func(c *Config) { c.Connections.Sharing = 7 }, []string{"7"}},
		{"TLS without grpcs", func(c *Config) { c.TLS.Insecure = true }, []string{"insecure requires a grpcs URL"}},
		{"no certificate", func(c *Config) { secure(c); c.TLS.CA = []byte("x") }, []string{"ca_file holds no certificate in PEM form"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := config(address, wire.Shared)
			test.alter(&cfg)
			target, err := New(t.Context(), cfg)
			if err == nil {
				target.Close()
				t.Fatal("accepted")
			}
			wiretest.Mistakes(t, err, test.want...)
		})
	}
}

func secure(c *Config) { c.URL = "grpcs" + strings.TrimPrefix(c.URL, "grpc") }

// Without data a message without fields is sent, also of types whose JSON is no object.
func TestNoData(t *testing.T) {
	t.Parallel()
	for input, file := range map[string]string{"StringValue": "wrappers", "Timestamp": "timestamp", "ListValue": "struct"} {
		cfg := config(counterAt(t, nil), wire.Shared)
		cfg.Data, cfg.ProtoFiles = nil, []string{testenv.Files(t, "counter.proto", `syntax = "proto3"; package counter; import "google/protobuf/empty.proto";
			import "google/protobuf/`+file+`.proto";
			service incrementCounter { rpc increment(google.protobuf.`+input+`) returns (google.protobuf.Empty); }`)}
		outcome, err := newVU(t, open(t, cfg), 0).Do(t.Context())
		if err != nil || outcome.Failed {
			t.Errorf("%s: %+v, %v", input, outcome, err)
		}
	}
}

// Imports are found in ImportPaths, standard ones always.
func TestImportPaths(t *testing.T) {
	t.Parallel()
	first := testenv.Files(t,
		"api/counter.proto", `syntax = "proto3"; package counter; import "types/by.proto"; import "google/protobuf/empty.proto";
			service incrementCounter { rpc increment(incrementBy) returns (google.protobuf.Empty); }`,
		"types/by.proto", `syntax = "proto3"; package counter; message incrementBy { int32 value = 1; }`,
	)
	address := counterAt(t, nil)
	cfg := config(address, wire.Shared)
	cfg.ProtoFiles, cfg.ImportPaths = []string{"api/counter.proto"}, []string{filepath.Dir(filepath.Dir(first))}
	outcome, err := newVU(t, open(t, cfg), 0).Do(t.Context())
	checkOutcome(t, outcome, err, wire.Shared)
}
