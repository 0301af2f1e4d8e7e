package pprof

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	httppprof "net/http/pprof"
	"runtime/trace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"contend/why/gotrace"
)

// program is a server with the pages of net/http/pprof.
func program(t *testing.T) *Server {
	t.Helper()
	pages := http.NewServeMux()
	pages.HandleFunc(DefaultPath, httppprof.Index)
	pages.HandleFunc(DefaultPath+"trace", httppprof.Trace)
	pages.HandleFunc(DefaultPath+"profile", httppprof.Profile)
	return at(t, serve(t, pages))
}

func serve(t *testing.T, h http.Handler) string {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL + DefaultPath
}

func at(t *testing.T, url string) *Server {
	t.Helper()
	s, err := At(url)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTrace(t *testing.T) {
	s := program(t)
	if err := s.Find(t.Context()); err != nil {
		t.Fatal(err)
	}
	body, err := s.Trace(t.Context(), 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	got, err := gotrace.Read(body)
	if err != nil || got.Length < 50*time.Millisecond || len(got.Waits) == 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRefusals(t *testing.T) {
	s := program(t)
	if err := trace.Start(io.Discard); err != nil {
		t.Fatal(err)
	}
	defer trace.Stop()
	if _, err := s.Trace(t.Context(), time.Millisecond); err == nil || !strings.HasSuffix(err.Error(), "answers 500: Could not enable tracing: execution tracer already enabled") {
		t.Error(err)
	}
	page := func(text string) string {
		return serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }))
	}
	for url, want := range map[string]string{
		page("<html>welcome</html>"):                                         "is no page of net/http/pprof",
		serve(t, http.NotFoundHandler()):                                     "answers 404",
		serve(t, http.RedirectHandler("http://192.0.2.1", http.StatusFound)): "answers 302",
	} {
		if err := at(t, url).Find(t.Context()); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, url := range []string{"", "localhost:8080", "ftp://a/", "http:///debug", "http://a/?b", "http://a/\x7f"} {
		if _, err := At(url); err == nil {
			t.Errorf("%q is taken", url)
		}
	}
}

// silent takes a request and never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestSilenceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := at(t, "http://192.0.2.1/debug/pprof")
		s.client.Transport = silent{}
		began := time.Now()
		_, err := s.Trace(t.Context(), time.Second)
		if err == nil || err.Error() != "http://192.0.2.1/debug/pprof/trace?seconds=1.000 has not answered in 6s" || time.Since(began) != 6*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Find(ctx); err == nil || time.Since(began) != 7*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
