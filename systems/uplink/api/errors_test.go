package api

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"contend/systems/uplink/table"
)

// Each error of the table has its code and status; nothing of its text is revealed.
func TestFailureOf(t *testing.T) {
	tests := []struct {
		err    error
		status int
		code   string
		logged bool
	}{
		{table.ErrDeviceExists, 409, "Device.AlreadyExists", false},
		{table.ErrDeviceLimit, 403, "Device.LimitExhausted", false},
		{table.ErrDeviceNotFound, 404, "Device.NotFound", false},
		{table.ErrGroupExists, 409, "MulticastGroup.AlreadyExists", false},
		{table.ErrGroupNotFound, 404, "MulticastGroup.NotFound", false},
		{table.ErrGroupContains, 409, "MulticastGroup.AlreadyContainsTheDevice", false},
		{table.ErrInvalid, 422, "ValidationFailed", true},
		{table.ErrUnavailable, 503, "Unknown", true},
		{table.ErrFull, 503, "Unknown", true},
		{context.Canceled, 503, "Unknown", true},
		{context.DeadlineExceeded, 503, "Unknown", true},
		{errors.New("defect"), 500, "Unknown", true},
	}
	for _, tt := range tests {
		var log bytes.Buffer
		a := &api{Config: Config{Log: slog.New(slog.NewTextHandler(&log, nil))}}
		f := failureOf(fmt.Errorf("postgres://admin:secret@db: %w", tt.err), "DevEUI 1")
		a.report("devices/insert", f)
		if f.status != tt.status || f.code != tt.code || !strings.HasSuffix(f.text, ": DevEUI 1") {
			t.Errorf("%v: got %d %s %q, want %d %s", tt.err, f.status, f.code, f.text, tt.status, tt.code)
		}
		body, err := f.MarshalJSON()
		if err != nil || strings.Contains(string(body), "secret") {
			t.Errorf("%v: told %s, %v", tt.err, body, err)
		}
		if logged := strings.Contains(log.String(), "postgres://"); logged != tt.logged {
			t.Errorf("%v: logged %q, want %v", tt.err, log.String(), tt.logged)
		}
	}
}

// Without its database the table still can be read; a write fails clearly.
func TestDatabaseGone(t *testing.T) {
	tab, err := table.Open(t.Context(), table.Config{URL: "sqlite::memory:"})
	if err != nil {
		t.Fatal(err)
	}
	lamps, _ := serve(t, Config{Table: tab})
	lamps.fill(2)
	if err := tab.Close(); err != nil {
		t.Fatal(err)
	}
	a := lamps.post("devices/insert", `{"DevEUI":"0000000000000003","DevAddr":"00000001"}`)
	if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, `"error_code":"Unknown"`) ||
		!strings.Contains(a.body, "the database cannot be reached") || strings.Contains(a.body, "sql") {
		t.Errorf("got %d %s", a.status, a.body)
	}
	if got := lamps.get("devices/select").euis(); len(got) != 2 {
		t.Errorf("got %v", got)
	}
}

// A pipe is a listener whose connections exist in a bubble of fake time.
type pipe chan net.Conn

func (p pipe) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipe) Close() error   { return nil }
func (p pipe) Addr() net.Addr { return &net.UnixAddr{} }

// serveOnce serves one connection and returns its other end.
func serveOnce(t *testing.T, h http.Handler) net.Conn {
	p := make(pipe)
	server := &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(p)
	}()
	ours, theirs := net.Pipe()
	p <- theirs
	t.Cleanup(func() {
		ours.Close()
		close(p)
		<-done
		server.Close()
	})
	return ours
}

// A body that does not come ends the call, after a while, and that of a stranger at once.
func TestSlowBody(t *testing.T) {
	for token, want := range map[string]int{DemoToken: http.StatusRequestTimeout, "wrong": http.StatusUnauthorized} {
		wait := map[int]time.Duration{http.StatusRequestTimeout: bodyTimeout}[want]
		synctest.Test(t, func(t *testing.T) {
			conn := serveOnce(t, New(Config{Tokens: DemoTokens()}))
			begun := time.Now()
			fmt.Fprintf(conn, "POST /api/v1/devices/insert HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 10\r\n\r\n{", token)
			all := bufio.NewReader(conn)
			resp, err := http.ReadResponse(all, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			if took := time.Since(begun); resp.StatusCode != want || took != wait {
				t.Errorf("got %d %s after %s, want %d after %s", resp.StatusCode, body, took, want, wait)
			}
			_, err = all.ReadByte()
			if took := time.Since(begun); !errors.Is(err, io.EOF) || took != wait {
				t.Errorf("%d: %v after %s, want the end of the connection", want, err, took)
			}
		})
	}
}

// A body may come in time and its answer long after: the deadline was the body's.
func TestDeadlineEndsWithBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := serveOnce(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, f := new(api).do(w, &call{Request: r}, route{maxBody: 100, handle: func(_ *api, c *call) (any, error) {
				time.Sleep(10 * bodyTimeout)
				return nil, c.Context().Err()
			}})
			if f != nil {
				t.Error(f)
			}
		}))
		fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n{")
		if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("got %v, %v", resp, err)
		}
	})
}

// A customer's further calls wait for their turn, for a while; another customer
// does not notice.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		finish := make(chan struct{})
		a := New(Config{Tokens: parseTokens(t, tokenFile)}).(*api)
		a.routes["wait"] = route{path: "wait", method: http.MethodGet, status: http.StatusOK,
			handle: func(*api, *call) (any, error) { <-finish; return deleted{}, nil }}
		a.routes["go"] = route{path: "go", method: http.MethodGet, status: http.StatusOK,
			handle: func(*api, *call) (any, error) { return deleted{}, nil }}
		get := func(customer, path string) int {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/"+path, nil)
			r.Header.Set("Authorization", "Bearer "+customer+"-token")
			a.ServeHTTP(w, r)
			return w.Code
		}
		statuses := make(chan int, maxCalls)
		for range maxCalls {
			go func() { statuses <- get("lamps", "wait") }()
		}
		synctest.Wait()
		begun := time.Now()
		if status := get("meters", "go"); status != http.StatusOK || time.Since(begun) != 0 {
			t.Errorf("another customer: %d after %s", status, time.Since(begun))
		}
		if status := get("lamps", "go"); status != http.StatusTooManyRequests || time.Since(begun) != turnTimeout {
			t.Errorf("one more call: %d after %s", status, time.Since(begun))
		}
		if status := get("nobody", "go"); status != http.StatusUnauthorized {
			t.Errorf("nobody's call: %d", status)
		}
		go func() {
			time.Sleep(turnTimeout / 2)
			finish <- struct{}{}
		}()
		if status := get("lamps", "go"); status != http.StatusOK || time.Since(begun) != turnTimeout+turnTimeout/2 {
			t.Errorf("one more call, a turn becoming free: %d after %s", status, time.Since(begun))
		}
		close(finish)
		for range maxCalls {
			if status := <-statuses; status != http.StatusOK {
				t.Errorf("a call that waited: %d", status)
			}
		}
	})
}

// A body that breaks off is an error of the customer's.
func TestBrokenBody(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	_, f := readBody(httptest.NewRecorder(), r, 100)
	if f == nil || f.status != http.StatusBadRequest || f.code != "Unknown" {
		t.Errorf("got %v", f)
	}
}

// A reader that takes a chunk now and then gets a list of any length; one that
// stops is given up after a minute.
func TestSlowReader(t *testing.T) {
	list := make([]table.Device, 5000) // about 150 bytes each, 12 chunks
	tests := []struct {
		name  string
		pause time.Duration // before each 64 KiB
		whole bool
	}{
		{"slow", chunkTimeout - time.Second, true},
		{"stopped", chunkTimeout + time.Second, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan struct{})
				conn := serveOnce(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					defer close(ended)
					writeDevices(w, list)
				}))
				fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
				resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 128<<10), nil)
				if err != nil {
					t.Fatal(err)
				}
				for err == nil {
					time.Sleep(tt.pause)
					_, err = io.CopyN(io.Discard, resp.Body, 64<<10)
				}
				<-ended
				if whole := err == io.EOF; whole != tt.whole {
					t.Errorf("read until %v, whole: %v", err, tt.whole)
				}
			})
		})
	}
}
