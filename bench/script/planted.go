package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"contend/bench/internal/paired"
)

// In planted comparisons: how often a request hashes a kilobyte, and how many times more one of them does,
// which is 5 % of what the flow's five requests do.
const (
	eachWork    = 300
	plantedWork = 75
	plantedPath = "/items"
	plantedName = "GET " + plantedPath
	plantedMost = time.Minute // for one comparison
)

// workCommand makes this program a server of the flow; an address and what is planted follow.
const workCommand = "work"

// serveWork serves requests that each compute for a while.
func serveWork(address, more string) error {
	extra, err := strconv.Atoi(more)
	if err != nil {
		return err
	}
	answers := map[string]string{"/login": `{"token":"0123456789abcdef"}`, "/items": `{"items":[{"id":11},{"id":12},{"id":13}]}`, "/logout": ""}
	return http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		busy := eachWork
		if r.URL.Path == plantedPath {
			busy += extra
		}
		sum := make([]byte, 1<<10)
		for range busy {
			hash := sha256.Sum256(sum)
			copy(sum, hash[:])
		}
		answer, known := answers[r.URL.Path]
		if !known {
			answer = `{"price":1.5}`
		}
		if answer == "" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = io.WriteString(w, answer) // the connection may be gone
	}))
}

// planted compares servers, one with 5 % more work in one of the five requests of the login flow, and
// counts how often the verdict is right and the request is named first; then it compares equal servers.
func planted(ctx context.Context, w io.Writer, contend string, times int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	paired.PrintEnvironment(w)
	for _, extra := range []int{plantedWork, 0} {
		var slower, named, other, undecided int
		for i := range times {
			found, err := compareFlow(ctx, contend, self, extra, i)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%d more: %s, first %s\n", extra, found.verdict, found.first)
			switch found.verdict {
			case "SLOWER":
				slower++
			case "INCONCLUSIVE":
				undecided++
			}
			switch found.first {
			case plantedName:
				named++
			case "":
			default:
				other++
			}
		}
		fmt.Fprintf(w, "%d more in %s: B slower in %d of %d, undecided %d; that request named first in %d, another in %d\n", extra, plantedName, slower, times, undecided, named, other)
	}
	return nil
}

// a finding is what a comparison said, and the request that it named first; "": none.
type finding struct{ verdict, first string }

// compareFlow compares a server with one that does so much more.
func compareFlow(ctx context.Context, contend, self string, extra int, seed int) (f finding, err error) {
	folder, err := os.MkdirTemp("", "contend-planted")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(folder)
	document := filepath.Join(folder, "document.json")
	server := func(more int) string { return fmt.Sprintf("%s %s {{addr}} %d", self, workCommand, more) }
	cmd := exec.CommandContext(ctx, contend, "compare", "--script", filepath.Join(load, "login.js"), "--url", "http://{{addr}}", "-c", "1", "-d", plantedMost.String(),
		"--seed", fmt.Sprint(1+seed), "-o", document, "--", server(0), server(extra))
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	failed := cmd.Run() // its exit code is of the verdict
	text, err := os.ReadFile(document)
	if err != nil {
		return f, fmt.Errorf("%w: %w: %s", err, failed, said.String())
	}
	var d struct {
		Comparisons []struct {
			Verdict  string
			Requests []struct {
				Name string
				Low  float64 `json:"ratio_low"`
				High float64 `json:"ratio_high"`
			}
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return f, err
	}
	if len(d.Comparisons) == 0 {
		return f, fmt.Errorf("nothing was compared: %s", said.String())
	}
	f.verdict = d.Comparisons[0].Verdict
	for _, r := range d.Comparisons[0].Requests {
		if r.Low > 1 || r.High > 0 && r.High < 1 {
			f.first = r.Name
			break
		}
	}
	return f, nil
}
