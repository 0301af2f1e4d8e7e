package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Headers with which a script says how its requests are to be compared.
const (
	// vuHeader names the virtual user. Requests of one are in their order.
	vuHeader = "X-Vu"
	// anyHeader is on requests whose order is not determined, such as those of a
	// batch: a stretch of them is sorted.
	anyHeader = "X-Any-Order"
)

// A request is what a server saw of one, as far as a script determines it.
type request struct {
	VU     string
	Any    bool
	Line   string // method, path and query
	Header string // the chosen headers that were there, as in "Accept: a; Cookie: b"
	Body   string
}

// String is one line. Two requests are the same if theirs are.
func (r request) String() string {
	text := r.Line
	for _, part := range []string{r.Header, r.Body} {
		if part != "" {
			text += " | " + part
		}
	}
	return text
}

// compared are the headers that scripts set, themselves or by an option. Others
// differ between any two clients.
var compared = []string{"Accept", "Accept-Language", "Authorization", "Content-Type", "Cookie", "Host", "Referer", "User-Agent", "X-Request-Id", "X-Tag"}

// newRequest is r with its body, which came to address.
func newRequest(r *http.Request, body []byte, address string) request {
	seen := request{VU: r.Header.Get(vuHeader), Any: r.Header.Get(anyHeader) != "", Line: r.Method + " " + r.URL.RequestURI()}
	kind := r.Header.Get("Content-Type")
	seen.Body = string(body)
	if media, params, err := mime.ParseMediaType(kind); err == nil && media == "multipart/form-data" {
		kind, seen.Body = media, formParts(body, params["boundary"])
	}
	if kind == "application/grpc" {
		seen.Body = strconv.Quote(seen.Body)
	}
	var parts []string
	for _, name := range compared {
		value := strings.Join(r.Header.Values(name), ", ")
		switch name {
		case "Content-Type":
			value = kind
		case "Cookie":
			value = sortedCookies(r)
		case "Host":
			value = r.Host
			if value == address {
				value = ""
			}
		case "User-Agent":
			value = customAgent(value)
		}
		if value != "" {
			parts = append(parts, name+": "+value)
		}
	}
	_, port, _ := net.SplitHostPort(address) // address has one, another one in each run
	known := strings.NewReplacer(":"+port, ":PORT", "%3A"+port, "%3APORT")
	seen.Header, seen.Line, seen.Body = known.Replace(strings.Join(parts, "; ")), known.Replace(seen.Line), known.Replace(seen.Body)
	return seen
}

// customAgent is an agent's name unless it is a tool's own.
func customAgent(agent string) string {
	for _, own := range []string{"Grafana k6/", "k6/", "grpc-go/", "contend"} {
		if strings.HasPrefix(agent, own) {
			return ""
		}
	}
	return agent
}

// sortedCookies has cookies in the order of their names, which clients choose.
func sortedCookies(r *http.Request) string {
	var pairs []string
	for _, c := range r.Cookies() {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "; ")
}

// formParts is a form of several parts without its boundary, which is random.
func formParts(body []byte, boundary string) string {
	var parts []string
	reader := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := reader.NextRawPart()
		if err != nil {
			break
		}
		content, _ := io.ReadAll(part) // what of it came
		parts = append(parts, fmt.Sprintf("%s file %q type %q: %s", part.FormName(), part.FileName(), part.Header.Get("Content-Type"), content))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// A recorder keeps the requests that a handler gets.
type recorder struct {
	each func(request) // if set, is called with each one
	any  bool          // none of them has an order

	mu   sync.Mutex
	seen []request
}

// record keeps requests before they are answered, with their bodies put back.
func (rec *recorder) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		address, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr) // http.Server sets it
		seen := newRequest(r, body, address.String())
		seen.Any = seen.Any || rec.any
		rec.mu.Lock()
		rec.seen = append(rec.seen, seen)
		if rec.each != nil {
			rec.each(seen)
		}
		rec.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// byVU returns what was recorded, by virtual user and in order.
func (rec *recorder) byVU() map[string][]request {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	users := map[string][]request{}
	for _, r := range rec.seen {
		users[r.VU] = append(users[r.VU], r)
	}
	for _, requests := range users {
		sortStretches(requests)
	}
	return users
}

// sortStretches sorts the stretches of requests that may be in any order.
func sortStretches(requests []request) {
	for from := 0; from < len(requests); from++ {
		to := from
		for to < len(requests) && requests[to].Any {
			to++
		}
		slices.SortFunc(requests[from:to], func(a, b request) int { return cmp.Compare(a.String(), b.String()) })
		from = to
	}
}
