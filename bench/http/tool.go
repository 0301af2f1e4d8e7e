package main

import (
	"fmt"
	"os"
	"strconv"

	"contend/bench/internal/paired"
)

func (x work) contend(path string) paired.Tool {
	args := []string{"-c", strconv.Itoa(x.connections * x.streams), "-d", fmt.Sprintf("%ds", x.seconds)}
	if x.fresh {
		args = append(args, "--no-keepalive")
	}
	if x.scheme == "https" {
		args = append(args, "--insecure")
	}
	if x.version == "2" {
		args = append(args, "--http", "2", "--connections", fmt.Sprintf("shared:%d", x.connections))
	}
	return paired.Contend(path, append(args, x.url)...)
}

// peerTools make the command lines of the peers.
var peerTools = map[string]func(work) paired.Tool{
	"wrk": func(x work) paired.Tool {
		return paired.Tool{
			Args:  []string{"-t1", fmt.Sprintf("-c%d", x.connections), fmt.Sprintf("-d%ds", x.seconds), x.url},
			Count: paired.CountWrk, VersionFlag: "-v",
		}
	},
	"ab": func(x work) paired.Tool {
		args := []string{"-q", "-c", strconv.Itoa(x.connections), "-t", strconv.Itoa(x.seconds), "-n", "100000000", x.url}
		if !x.fresh {
			args = append([]string{"-k"}, args...)
		}
		return paired.Tool{Args: args, VersionFlag: "-V",
			Count: paired.CountText(`Complete requests: +(\d+)`, `(?:Failed requests|Non-2xx responses): +([1-9]\d*)`)}
	},
	"fortio": func(x work) paired.Tool {
		return paired.Tool{
			Args: []string{"load", "-quiet", "-qps", "0", "-r", "0.0001", "-c", strconv.Itoa(x.connections),
				"-t", fmt.Sprintf("%ds", x.seconds), "-json", "-", x.url},
			Count: paired.CountFortio,
		}
	},
	"oha": func(x work) paired.Tool {
		args := []string{"-z", fmt.Sprintf("%ds", x.seconds), "-c", strconv.Itoa(x.connections), "--no-tui", "--output-format", "json"}
		if x.version == "2" {
			args = append(args, "--http2", "-p", strconv.Itoa(x.streams))
		}
		if x.scheme == "https" {
			args = append(args, "--insecure")
		}
		return paired.Tool{Args: append(args, x.url), Count: paired.CountOha}
	},
	"bombardier": func(x work) paired.Tool {
		return paired.Tool{
			Args:  []string{"-c", strconv.Itoa(x.connections), "-d", fmt.Sprintf("%ds", x.seconds), "-l", "-p", "r", "-o", "json", x.url},
			Count: countBombardier,
		}
	},
	"h2load": func(x work) paired.Tool {
		args := []string{"-c", strconv.Itoa(x.connections), "-m", strconv.Itoa(x.streams), "-D", strconv.Itoa(x.seconds), "-t", "1", x.url}
		if x.version != "2" {
			args = append([]string{"--h1"}, args...)
		}
		return paired.Tool{Args: args, Count: paired.CountText(`(\d+) succeeded`, `([1-9]\d*) failed`)}
	},
	bareCommand: func(x work) paired.Tool {
		self, _ := os.Executable() // without it the tool is reported as missing
		return paired.Tool{Path: self,
			Args:  []string{bareCommand, "-addr", x.address, "-c", strconv.Itoa(x.connections), "-d", fmt.Sprintf("%ds", x.seconds)},
			Count: paired.CountText(`(\d+) answers`, `^$`),
		}
	},
}

var countBombardier = paired.CountJSON(func(document struct {
	Result struct{ Req2xx, Req3xx, Req4xx, Req5xx, Others int64 }
}) (completed, wrong int64, err error) {
	r := document.Result
	return r.Req2xx, r.Req3xx + r.Req4xx + r.Req5xx + r.Others, nil
})
