package main

import (
	"fmt"
	"maps"
	"slices"
)

// A table is one kind of work at several numbers of connections. A bar is what
// the ratio to a peer shall reach; a peer without one is measured only.
type table struct {
	title string
	work  // what all rows share
	rows  []row
}

type row struct {
	connections, streams int // streams per connection; 0: 1
}

// A work is what the tools of one row do.
type work struct {
	row
	scheme  string // http unless given
	path    string
	fresh   bool   // a connection for each request
	version string // HTTP: 1.1 unless given
	rate    int    // arrivals per second; 0: closed model
	bars    map[string]float64
	peers   []string

	url, address string
	seconds      int
}

var tables = map[string]table{
	"small": {
		title: "61 bytes, keep-alive",
		work: work{path: "/", peers: []string{"wrk", "ab", bareCommand},
			bars: map[string]float64{"wrk": 1.03, "ab": 1.03, bareCommand: 0.95}},
		rows: []row{{1, 0}, {20, 0}, {50, 0}, {100, 0}, {1000, 0}},
	},
	"big": {
		title: "130 kB, keep-alive",
		work: work{path: "/big.html", peers: []string{"fortio", "oha", "ab", "bombardier"},
			bars: map[string]float64{"fortio": 1.05, "oha": 1.05, "ab": 1.05, "bombardier": 1.05}},
		rows: []row{{20, 0}, {50, 0}, {100, 0}},
	},
	"connect": {
		title: "61 bytes, a new connection for each request",
		work:  work{path: "/", fresh: true, peers: []string{"ab"}, bars: map[string]float64{"ab": 1}},
		rows:  []row{{1, 0}, {50, 0}},
	},
	"tls": {
		title: "61 bytes over TLS 1.3, keep-alive",
		work: work{scheme: "https", path: "/", peers: []string{"oha", "h2load"},
			bars: map[string]float64{"oha": 1, "h2load": 0.8}},
		rows: []row{{50, 0}},
	},
	"h2": {
		title: "61 bytes over HTTP/2 and TLS 1.3",
		work: work{scheme: "https", path: "/", version: "2", peers: []string{"oha", "h2load"},
			bars: map[string]float64{"oha": 1, "h2load": 0.8}},
		rows: []row{{50, 1}, {10, 5}, {1, 50}},
	},
	"h2c": {
		title: "61 bytes over HTTP/2 without TLS",
		work: work{path: "/", version: "2", peers: []string{"oha", "h2load"},
			bars: map[string]float64{"oha": 1, "h2load": 0.8}},
		rows: []row{{50, 1}, {10, 5}, {1, 50}},
	},
	"open": {
		title: "61 bytes, 5000 arrivals/s: CPU for the same work",
		work:  work{path: "/", rate: 5000, peers: []string{"oha", "fortio"}, bars: map[string]float64{"oha": 1, "fortio": 1}},
		rows:  []row{{50, 0}},
	},
}

func tableNames() []string { return slices.Sorted(maps.Keys(tables)) }

// with returns the work of a row.
func (t table) with(r row, server *nginx) work {
	x := t.work
	x.row = r
	x.streams = max(1, r.streams)
	x.address = server.address
	switch {
	case x.scheme == "https":
		x.address = server.secure
	case x.version == "2":
		x.address = server.h2c
	}
	x.url = fmt.Sprintf("%s://%s%s", or(x.scheme, "http"), x.address, x.path)
	return x
}

func (x work) String() string {
	if x.streams > 1 {
		return fmt.Sprintf("%d connections × %d streams", x.connections, x.streams)
	}
	return fmt.Sprintf("%d connections", x.connections)
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
