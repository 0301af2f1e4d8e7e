package main

import (
	"cmp"
	"fmt"

	"contend/bench/internal/paired"
)

// A table is one kind of work at several numbers of connections. The bars are
// what the ratio to each peer shall reach; 0: it is measured only.
type table struct {
	title string
	work  // what all rows share
	bars  []bar
	rows  []row
}

type bar struct {
	peer  string
	ratio float64
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

	url, address string
	seconds      int
}

var tables = map[string]table{
	"small": {
		title: "61 bytes, keep-alive",
		work:  work{path: "/"},
		bars:  []bar{{"wrk", 1.03}, {"ab", 1.03}, {bareCommand, 0.95}},
		rows:  []row{{1, 0}, {20, 0}, {50, 0}, {100, 0}, {1000, 0}},
	},
	"big": {
		title: "130 kB, keep-alive",
		work:  work{path: "/big.html"},
		bars:  []bar{{"fortio", 1.05}, {"oha", 1.05}, {"ab", 1.05}, {"bombardier", 1.05}},
		rows:  []row{{20, 0}, {50, 0}, {100, 0}},
	},
	"connect": {
		title: "61 bytes, a new connection for each request",
		work:  work{path: "/", fresh: true},
		bars:  []bar{{"ab", 1}},
		rows:  []row{{1, 0}, {50, 0}},
	},
	"tls": {
		title: "61 bytes over TLS 1.3, keep-alive",
		work:  work{scheme: "https", path: "/"},
		bars:  []bar{{"oha", 1}, {"h2load", 0.8}},
		rows:  []row{{50, 0}},
	},
	"h2": {
		title: "61 bytes over HTTP/2 and TLS 1.3",
		work:  work{scheme: "https", path: "/", version: "2"},
		bars:  []bar{{"oha", 1}, {"h2load", 0.8}},
		rows:  []row{{50, 1}, {10, 5}, {1, 50}},
	},
	"h2c": {
		title: "61 bytes over HTTP/2 without TLS",
		work:  work{path: "/", version: "2"},
		bars:  []bar{{"oha", 1}, {"h2load", 0.8}},
		rows:  []row{{50, 1}, {10, 5}, {1, 50}},
	},
}

// tables returns the tables with the command lines of their tools.
func (n *nginx) tables(contend string, seconds int) map[string]paired.Table {
	list := map[string]paired.Table{}
	for name, t := range tables {
		made := paired.Table{Title: t.title}
		for _, r := range t.rows {
			x := n.work(t.work, r, seconds)
			made.Rows = append(made.Rows, paired.Row{Title: x.String(), Connections: r.connections, Tools: x.tools(contend, t.bars)})
		}
		list[name] = made
	}
	return list
}

func (n *nginx) work(x work, r row, seconds int) work {
	x.row, x.seconds = r, seconds
	x.streams = max(1, r.streams)
	x.address = n.plain
	switch {
	case x.scheme == "https":
		x.address = n.tls
	case x.version == "2":
		x.address = n.h2c
	}
	x.url = fmt.Sprintf("%s://%s%s", cmp.Or(x.scheme, "http"), x.address, x.path)
	return x
}

func (x work) String() string {
	if x.streams > 1 {
		return fmt.Sprintf("%d connections × %d streams", x.connections, x.streams)
	}
	return fmt.Sprintf("%d connections", x.connections)
}

// tools are contend and its peers at this work.
func (x work) tools(contend string, peers []bar) []paired.Tool {
	tools := []paired.Tool{x.contend(contend)}
	for _, peer := range peers {
		tool := peerTools[peer.peer](x)
		tool.Name, tool.Bar = peer.peer, peer.ratio
		tools = append(tools, tool)
	}
	return tools
}
