package protocol

import (
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"contend/finding"
	"contend/internal/testenv"
	"contend/load"
	"contend/loop"
	"contend/protocol/wire/wiretest"
)

// What answers are like is recorded in the same way by every version and engine of HTTP.
func TestAnswersAreRecorded(t *testing.T) {
	t.Parallel()
	server := wiretest.BothVersions(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			w.Header().Set("Content-Type", "Text/HTML; charset=utf-8")
			io.WriteString(w, strings.Repeat("x", 2000))
		case "/untyped":
			w.Header()["Content-Type"] = nil
			io.WriteString(w, "12345")
		case "/moved":
			w.Header().Set("Location", "/page")
			w.WriteHeader(http.StatusMovedPermanently)
		default:
			http.NotFound(w, r)
		}
	}))
	wiretest.Started(t, server)
	const n = 20
	of := func(status int, media string, length int64) *load.Answers {
		return &load.Answers{Kinds: []load.AnswerKind{{Status: status, ContentType: media, Count: n}}, Bodies: []load.Bodies{{Count: n, Bytes: n * length}}}
	}
	checked, moved := of(200, "text/html", 2000), of(301, "", 0)
	checked.Checked = n
	moved.Redirects, moved.Location = n, "/page"
	for _, way := range []struct{ version, engine string }{{"1.1", ""}, {"1.1", "goroutines"}, {"2", ""}, {"2", "goroutines"}} {
		for _, tt := range []struct {
			path, name, value string // of a setting
			want              *load.Answers
		}{
			{"/page", "", "", of(200, "text/html", 2000)},
			{"/page", "expect_status", "200", of(200, "text/html", 2000)},
			{"/page", "checks", "status == 200", of(200, "text/html", 2000)},
			{"/page", "checks", "body contains xx", checked},
			{"/page", "checks", "header content-type exists", checked},
			{"/untyped", "", "", of(200, "", 5)},
			{"/moved", "", "", moved},
			{"/moved", "expect_status", "301", of(301, "", 0)},
			{"/moved", "checks", "status in 300-399", of(301, "", 0)},
			{"/none", "", "", nil}, // no right answer
		} {
			loops, _ := loop.Supported()
			if tt.name == "checks" && way.version == "2" && (!loops || way.engine != "") {
				continue // there are none
			}
			target := At(server.URL+tt.path).With("http", way.version)
			if way.engine != "" {
				target = target.With("engine", way.engine)
			}
			if tt.name != "" {
				target = target.With(tt.name, tt.value)
			}
			opened, err := Opener{}.Open(t.Context(), target)
			testenv.Must(t, err)
			r, err := load.Run(t.Context(), tt.path, opened, load.Plan{VUs: 3, Iterations: n})
			testenv.Must(t, err)
			if !reflect.DeepEqual(r.Answers, tt.want) {
				t.Errorf("HTTP/%s on %s (%s), %s %s=%q: %+v, want %+v", way.version, way.engine, r.Engine, tt.path, tt.name, tt.value, r.Answers, tt.want)
			}
			if got := finding.OnlyRedirects.In(r.Warnings); got != (tt.want == moved) {
				t.Errorf("HTTP/%s on %s, %s %s=%q: only redirects: %v", way.version, way.engine, tt.path, tt.name, tt.value, got)
			}
		}
	}
}
