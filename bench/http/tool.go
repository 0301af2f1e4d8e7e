package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

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
	if x.rate > 0 {
		args = append(args, "--rate", strconv.Itoa(x.rate))
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
			Args: []string{"load", "-quiet", "-qps", strconv.Itoa(x.rate), "-r", "0.0001", "-c", strconv.Itoa(x.connections),
				"-t", fmt.Sprintf("%ds", x.seconds), "-json", "-", x.url},
			Count: countFortio,
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
		if x.rate > 0 {
			args = append(args, "-q", strconv.Itoa(x.rate), "--latency-correction")
		}
		return paired.Tool{Args: append(args, x.url), Count: countOha}
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
		self, _ := os.Executable() // without it the tool is said not to be there
		return paired.Tool{Path: self,
			Args:  []string{bareCommand, "-addr", x.address, "-c", strconv.Itoa(x.connections), "-d", fmt.Sprintf("%ds", x.seconds)},
			Count: paired.CountText(`(\d+) answers`, `^$`),
		}
	},
}

var countFortio = paired.CountJSON(func(document struct{ RetCodes map[string]int64 }) (completed, wrong int64, err error) {
	completed, wrong = split(document.RetCodes)
	return completed, wrong, nil
})

// countOha leaves out what oha itself cut off at its deadline.
var countOha = paired.CountJSON(func(document struct{ StatusCodeDistribution, ErrorDistribution map[string]int64 }) (completed, wrong int64, err error) {
	completed, wrong = split(document.StatusCodeDistribution)
	for text, n := range document.ErrorDistribution {
		if !strings.Contains(text, "deadline") {
			wrong += n
		}
	}
	return completed, wrong, nil
})

func split(byStatus map[string]int64) (completed, wrong int64) {
	for status, n := range byStatus {
		if status == "200" {
			completed = n
		} else {
			wrong += n
		}
	}
	return completed, wrong
}

var countBombardier = paired.CountJSON(func(document struct {
	Result struct{ Req2xx, Req3xx, Req4xx, Req5xx, Others int64 }
}) (completed, wrong int64, err error) {
	r := document.Result
	return r.Req2xx, r.Req3xx + r.Req4xx + r.Req5xx + r.Others, nil
})
