package protocol

import (
	"time"
)

// A Spec describes a target in words, as flags and experiment files do. Only
// URL is required; fields that its scheme does not know are a mistake.
type Spec struct {
	// URL is http://, https:// or http+unix://, grpc:// or grpcs://host:port/package.Service/Method,
	// ws:// or wss://, guard:DESIGN?…, pipe:RUNG?…, or func:NAME for a function of this program.
	URL string `yaml:"url,omitempty" json:"url"`
	// Method is the HTTP method.
	Method string `yaml:"method,omitempty" json:"method,omitempty"`
	// Header holds lines "Name: value": HTTP header fields, also of a WebSocket's
	// handshake, or gRPC metadata. The value of metadata whose name ends in -bin
	// is in base64 (standard alphabet, padded or not).
	Header []string `yaml:"header,omitempty" json:"-"`
	// Data is the request's body: as it is for HTTP, a JSON message for gRPC, the
	// message of a WebSocket.
	Data string `yaml:"data,omitempty" json:"data,omitempty"`
	// DataFile is read instead of Data.
	DataFile string `yaml:"data_file,omitempty" json:"data_file,omitempty"`
	// Rows is a CSV or JSONL file whose rows fill the placeholders {{…}} of an HTTP
	// request, in RowOrder: sequential (empty), per-vu or random.
	Rows     string `yaml:"rows,omitempty" json:"rows,omitempty"`
	RowOrder string `yaml:"row_order,omitempty" json:"row_order,omitempty"`
	// Requests are several HTTP requests that are sent by weight.
	Requests []Request `yaml:"requests,omitempty" json:"requests,omitempty"`
	// ExpectStatus lists the right HTTP statuses (empty: 200 to 399), or the one
	// right gRPC code (empty: 0).
	ExpectStatus []int `yaml:"expect_status,omitempty" json:"expect_status,omitempty"`
	// Checks are what a right answer passes besides, in the language of package
	// protocol/check; of a WebSocket's messages only body, size and json.
	Checks []string `yaml:"checks,omitempty" json:"checks,omitempty"`
	// BasicAuth (user:password) and Bearer (a token) are where to find a secret:
	// env:NAME or file:PATH. It is sent as the authorization, and never shown.
	BasicAuth string `yaml:"basic_auth,omitempty" json:"-"`
	Bearer    string `yaml:"bearer,omitempty" json:"-"`
	// HTTP is the version of HTTP: 1.1 (empty), 2 or 3.
	HTTP string `yaml:"http,omitempty" json:"http,omitempty"`
	// NoKeepAlive opens a connection for every HTTP iteration.
	NoKeepAlive bool `yaml:"no_keepalive,omitempty" json:"no_keepalive,omitempty"`
	// UnixSocket is connected to instead of the URL's host.
	UnixSocket string `yaml:"unix_socket,omitempty" json:"unix_socket,omitempty"`
	// Connections of gRPC (shared:1 if empty), HTTP/2, HTTP/3 and WebSocket (per-vu if empty):
	// shared:N, per-vu or per-iteration.
	Connections string `yaml:"connections,omitempty" json:"connections,omitempty"`
	// Proto and ImportPath find the gRPC method without reflection.
	Proto      []string `yaml:"proto,omitempty" json:"proto,omitempty"`
	ImportPath []string `yaml:"import_path,omitempty" json:"import_path,omitempty"`
	// Messages, Stream (per-iteration, or per-vu for one that is kept open) and
	// Deadline belong to gRPC streams and calls: see grpc.Config.
	Messages int           `yaml:"messages,omitempty" json:"messages,omitempty"`
	Stream   string        `yaml:"stream,omitempty" json:"stream,omitempty"`
	Deadline time.Duration `yaml:"deadline,omitempty" json:"deadline_ns,omitempty"`
	// MaxMessage is the largest gRPC or WebSocket message that is taken, in bytes.
	MaxMessage int `yaml:"max_message,omitempty" json:"max_message_bytes,omitempty"`
	// Mode (exchange, send or receive), Match (order or id), IDPath and AnswerIDPath,
	// Binary, Subprotocols and Compress belong to WebSockets: see ws.Config.
	Mode         string   `yaml:"mode,omitempty" json:"mode,omitempty"`
	Match        string   `yaml:"match,omitempty" json:"match,omitempty"`
	IDPath       string   `yaml:"id_path,omitempty" json:"id_path,omitempty"`
	AnswerIDPath string   `yaml:"answer_id_path,omitempty" json:"answer_id_path,omitempty"`
	Binary       bool     `yaml:"binary,omitempty" json:"binary,omitempty"`
	Subprotocols []string `yaml:"subprotocols,omitempty" json:"subprotocols,omitempty"`
	Compress     bool     `yaml:"compress,omitempty" json:"compress,omitempty"`
	// CAFile holds the trusted authorities in PEM form; Insecure trusts anybody.
	CAFile   string `yaml:"ca_file,omitempty" json:"ca_file,omitempty"`
	Insecure bool   `yaml:"insecure,omitempty" json:"insecure,omitempty"`
	// CertFile and KeyFile identify us to the server, in PEM form.
	CertFile string `yaml:"cert_file,omitempty" json:"cert_file,omitempty"`
	KeyFile  string `yaml:"key_file,omitempty" json:"key_file,omitempty"`
	// Engine is empty, or goroutines: a goroutine for each VU, although event
	// loops could drive the target.
	Engine string `yaml:"engine,omitempty" json:"engine,omitempty"`
}

// A Request is one of several that an HTTP target sends. What it leaves empty is
// the Spec's.
type Request struct {
	// Name is what results call it.
	Name string `yaml:"name,omitempty" json:"name"`
	// Weight is how often it is sent in proportion to the others, 1 to 1000; 0 means 1.
	Weight int `yaml:"weight,omitempty" json:"weight,omitempty"`
	// Path is the path and query instead of the URL's.
	Path         string   `yaml:"path,omitempty" json:"path,omitempty"`
	Method       string   `yaml:"method,omitempty" json:"method,omitempty"`
	Header       []string `yaml:"header,omitempty" json:"header,omitempty"`
	Data         string   `yaml:"data,omitempty" json:"data,omitempty"`
	ExpectStatus []int    `yaml:"expect_status,omitempty" json:"expect_status,omitempty"`
	Checks       []string `yaml:"checks,omitempty" json:"checks,omitempty"`
}
