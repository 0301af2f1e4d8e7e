package counter

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"contend/guard"
	"contend/internal/testenv"
	"contend/systems/counter/counterpb"
	"contend/systems/counter/redis"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/valyala/fasthttp"
	"pgregory.net/rapid"
)

// A description is the OpenAPI document, to be compared with what is served.
type description struct{ *openapi3.T }

func readDescription(t testing.TB) description {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData([]byte(openAPI))
	if err != nil {
		t.Fatal(err)
	}
	return description{doc}
}

// at returns the operation at a path as it is described, or nil.
func (d description) at(method, path string) *openapi3.Operation {
	item := d.Paths.Value(path)
	if item == nil {
		return nil
	}
	return item.GetOperation(method)
}

// template returns the described path that a request's path falls under.
func (d description) template(path string) string {
	if d.Paths.Value(path) != nil {
		return path
	}
	if name, ok := strings.CutPrefix(path, pathDesigns); ok && name != "" && !strings.Contains(name, "/") {
		return pathDesign
	}
	return ""
}

// An answer is what came back for a request.
type answer struct {
	method, path string
	code         int
	header       http.Header
	body         string
}

// conforms compares an answer with what is described for its path and method,
// and what is not with the answers that are the same on all paths.
func (d description) conforms(a answer) error {
	path := d.template(a.path)
	op := d.at(a.method, path)
	switch {
	case path == "":
		op = d.only("NotFound")
	case op == nil && slices.Contains([]string{pathMutex, pathDesign}, path): // and there may be no such counter
		op = d.only("MethodNotAllowed", "BadRequest", "NotFound")
	case op == nil:
		op = d.only("MethodNotAllowed")
	}
	request, err := http.NewRequest(http.MethodGet, "http://test/", nil) // HEAD would not be looked at
	if err != nil {
		return err
	}
	options := &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: a.method == http.MethodHead}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: request, Route: &routers.Route{Spec: d.T, Path: path, Method: a.method, Operation: op},
		},
		Status: a.code, Header: a.header, Options: options,
	}
	in.SetBodyBytes([]byte(a.body))
	if err := openapi3filter.ValidateResponse(context.Background(), in); err != nil {
		return fmt.Errorf("%s %s: %d %q: %w", a.method, a.path, a.code, a.body, err)
	}
	return nil
}

// only is an operation that answers as named and in no other way.
func (d description) only(names ...string) *openapi3.Operation {
	codes := map[string]int{"BadRequest": 400, "NotFound": 404, "MethodNotAllowed": 405}
	responses := openapi3.NewResponsesWithCapacity(len(names))
	for _, name := range names {
		responses.Set(strconv.Itoa(codes[name]), d.Components.Responses[name])
	}
	return &openapi3.Operation{Responses: responses}
}

func TestDescriptionIsValid(t *testing.T) {
	d := readDescription(t)
	if err := d.Validate(t.Context(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation(),
		openapi3.EnableSchemaPatternValidation()); err != nil {
		t.Error(err)
	}
	ids := make(map[string]string)
	for path, item := range d.Paths.Map() {
		for method, op := range item.Operations() {
			where := method + " " + path
			if op.Summary == "" || len(op.Tags) != 1 || d.Tags.Get(op.Tags[0]) == nil {
				t.Errorf("%s: summary %q, tags %v", where, op.Summary, op.Tags)
			}
			if op.OperationID == "" || ids[op.OperationID] != "" {
				t.Errorf("%s: its name %q is that of %q", where, op.OperationID, ids[op.OperationID])
			}
			ids[op.OperationID] = where
		}
		if get, head := d.at("GET", path), d.at("HEAD", path); get == nil || head == nil ||
			!slices.Equal(slices.Sorted(maps.Keys(get.Responses.Map())), slices.Sorted(maps.Keys(head.Responses.Map()))) {
			t.Errorf("%s: HEAD does not do what GET does", path)
		}
	}
	for name, schema := range d.Components.Schemas {
		for property, s := range schema.Value.Properties {
			if s.Value.Description == "" {
				t.Errorf("%s.%s has no description", name, property)
			}
		}
	}
}

// The paths in route.go are those that are served.
func TestEveryServedPathIsDescribed(t *testing.T) {
	d := readDescription(t)
	served := servedPaths(t)
	for path := range newTestHandler(t).routes {
		served = append(served, d.template(path))
	}
	slices.Sort(served)
	served = slices.Compact(served)
	if described := slices.Sorted(maps.Keys(d.Paths.Map())); !slices.Equal(described, served) {
		t.Errorf("described are %q, served %q", described, served)
	}
}

// servedPaths reads the constants of the paths, except the prefix of designs.
func servedPaths(t *testing.T) (paths []string) {
	file, err := parser.ParseFile(token.NewFileSet(), "route.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && strings.HasPrefix(spec.Names[0].Name, "path") && len(spec.Values) == 1 {
			path, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err == nil && path != pathDesigns {
				paths = append(paths, path)
			}
		}
		return true
	})
	if len(paths) < 7 {
		t.Fatalf("route.go has the paths %q only", paths)
	}
	return paths
}

func TestDescriptionNamesTheDesigns(t *testing.T) {
	var got []string
	for _, name := range readDescription(t).Components.Parameters["Design"].Value.Schema.Value.Examples {
		got = append(got, name.(string))
	}
	want := guard.Names(true)
	for _, design := range redis.Designs() {
		want = append(want, design.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the designs described are %q, want %q", got, want)
	}
}

func TestDescriptionsAreServed(t *testing.T) {
	s := start(t, httpOnly())
	for path, want := range map[string]string{pathOpenAPI: openAPI, pathProto: counterpb.Source} {
		if _, body := fetch(t, "GET", s.url(path)); body != want {
			t.Errorf("%s: %q", path, body)
		}
	}
	_, metrics := fetch(t, "GET", s.url(pathMetrics))
	for _, path := range []string{pathOpenAPI, pathProto} {
		if want := `contend_counter_http_requests_total{code="200",path="` + path + `"} 1`; !strings.Contains(metrics, want) {
			t.Errorf("/metrics lacks %q", want)
		}
	}
}

// A provocation makes a server answer requests with one status.
type provocation struct {
	name   string
	code   int
	paths  []string // as described; nil: all that have the status
	server func(t *testing.T) *running
	design string // asked for where the path has one
	raw    string // the request, after the method and the path
	// unread means that the server cannot tell HEAD, and so sends a body.
	unread bool
}

const (
	rest       = " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
	whole      = rest + "\r\n"
	pathDesign = pathDesigns + "{design}"
)

func provocations() []provocation {
	serving := func(t *testing.T, cfg Config) *running {
		s := start(t, cfg)
		testenv.Eventually(t, "serving", s.phase.serving) // its sockets take connections before
		return s
	}
	plain := func(t *testing.T) *running { return serving(t, httpOnly()) }
	shared := func(fault, away error) func(t *testing.T) *running {
		return func(t *testing.T) *running { return serving(t, sharing2(&fakeShared{fault: fault, away: away})) }
	}
	counting, both, design := []string{pathAtomic, pathMutex, pathDesign}, []string{pathShared, pathDesign}, []string{pathDesign}
	return []provocation{
		{name: "good", code: 200, server: plain, design: "atomic", raw: whole},
		{name: "good and shared", code: 200, paths: both, server: shared(nil, nil), design: "redis-script",
			raw: rest + "Idempotency-Key: a b~\r\n\r\n"},
		{name: "no header", code: 400, server: plain, design: "atomic", raw: rest + "no colon\r\n\r\n", unread: true},
		{name: "no value", code: 400, paths: design, server: plain, design: "striped", raw: whole},
		{name: "no key", code: 400, paths: both, server: shared(nil, nil), design: "redis-script",
			raw: rest + "Idempotency-Key: " + strings.Repeat("x", 129) + "\r\n\r\n"},
		{name: "no design", code: 404, paths: design, server: plain, design: "nosuch", raw: whole},
		{name: "no counter of its own", code: 404, paths: []string{pathMutex, pathDesign}, server: shared(nil, nil),
			design: "mutex", raw: whole},
		{name: "no end", code: 408, server: func(t *testing.T) *running {
			return start(t, httpOnly(), withReadTimeout(50*time.Millisecond))
		}, design: "atomic", raw: " HTTP/1.1\r\nHost", unread: true},
		{name: "large body", code: 413, server: plain, design: "atomic",
			raw: rest + fmt.Sprintf("Content-Length: %d\r\n\r\n", maxBodyBytes+1), unread: true},
		{name: "large header", code: 431, server: plain, design: "atomic",
			raw: rest + "X: " + strings.Repeat("x", maxHeaderBytes-len(rest)), unread: true},
		{name: "panic", code: 500, paths: counting, server: func(t *testing.T) *running {
			return start(t, httpOnly(), breakTallies)
		}, design: "atomic", raw: whole},
		{name: "defect", code: 500, paths: both, server: shared(errors.New("overflow"), nil), design: "redis-script", raw: whole},
		{name: "stopping", code: 503, server: func(t *testing.T) *running {
			s := plain(t)
			s.phase.drain()
			return s
		}, design: "atomic", raw: whole},
		{name: "away", code: 503, paths: both, server: shared(redis.ErrUnavailable, nil), design: "redis-script", raw: whole},
		{name: "not ready", code: 503, paths: []string{pathReady}, server: shared(nil, redis.ErrUnavailable), raw: whole},
		{name: "in doubt", code: 504, paths: both, server: shared(redis.ErrIndeterminate, nil), design: "redis-script", raw: whole},
	}
}

func breakTallies(s *Server) {
	for _, r := range s.sides[0].(*httpSide).handler.routes {
		r.own = panicking{r.own}
	}
}

// Every described answer is given, and is as described.
func TestEveryDescribedAnswerIsGiven(t *testing.T) {
	d := readDescription(t)
	described := make(map[string]bool) // and whether it was given
	for path, item := range d.Paths.Map() {
		for method, op := range item.Operations() {
			for code := range op.Responses.Map() {
				described[method+" "+path+" "+code] = false
			}
		}
	}
	for _, p := range provocations() {
		t.Run(p.name, func(t *testing.T) {
			s := p.server(t)
			for what := range described {
				method, path, code := fields(t, what)
				if code != p.code || p.paths != nil && !slices.Contains(p.paths, path) {
					continue
				}
				described[what] = true
				p.check(t, s, d, answer{method: method, path: strings.ReplaceAll(path, "{design}", p.design)})
			}
		})
	}
	for what, given := range described {
		if !given {
			t.Errorf("no test provokes %s", what)
		}
	}
}

func fields(t *testing.T, what string) (method, path string, code int) {
	t.Helper()
	if _, err := fmt.Sscan(what, &method, &path, &code); err != nil {
		t.Fatal(err)
	}
	return method, path, code
}

func (p provocation) check(t *testing.T, s *running, d description, a answer) {
	t.Helper()
	testenv.Eventually(t, "an answer", func() (ok bool) {
		a, ok = p.ask(t, s, a)
		return ok
	})
	if a.code != p.code {
		t.Errorf("%s %s: %d, want %d", a.method, a.path, a.code, p.code)
	}
	if err := d.conforms(a); err != nil {
		t.Error(err)
	}
}

// ask returns false if the server closed the connection without a response, as
// it may with a slow request before anything has arrived.
func (p provocation) ask(t *testing.T, s *running, a answer) (answer, bool) {
	t.Helper()
	c := dial(t, s.httpAddr())
	defer c.Close()
	if _, err := io.WriteString(c, a.method+" "+a.path+p.raw); err != nil {
		return a, false
	}
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, &http.Request{Method: a.method})
	if err != nil {
		return a, false
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	if more, _ := io.ReadAll(br); len(more) > 0 && !p.unread {
		t.Errorf("%s %s: %q after the answer", a.method, a.path, more)
	}
	a.code, a.header, a.body = resp.StatusCode, resp.Header, string(body)
	return a, true
}

func TestMetricsAsMessages(t *testing.T) {
	s := start(t, httpOnly())
	got, _ := provocation{raw: rest + "Accept: application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; " +
		"encoding=delimited\r\n\r\n"}.ask(t, s, answer{method: "GET", path: pathMetrics})
	if form := got.header.Get("Content-Type"); !strings.HasPrefix(form, "application/vnd.google.protobuf") {
		t.Errorf("form %q", form)
	}
	if err := readDescription(t).conforms(got); err != nil {
		t.Error(err)
	}
}

// Whatever is asked, and whatever Redis does, the answer is as described, and a key is
// refused if and only if it is not.
func TestNoAnswerIsUndescribed(t *testing.T) {
	d, own, fake := readDescription(t), newTestHandler(t), &fakeShared{}
	shared := newSharingHandler(t, newSharing(fake, "redis-script"))
	paths := append(slices.Collect(maps.Keys(d.Paths.Map())), "/", "/nosuch", pathDesigns, "/status/striped",
		"/status/atomic", "/status/MUTEX", "/status/Redis-Script", "/status/a/b", "/openapi.yaml/")
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "nosuch"}
	faults := []error{nil, redis.ErrUnavailable, redis.ErrIndeterminate, errors.New("refused"), guard.ErrClosed}
	keys := rapid.StringOfN(rapid.RuneFrom([]rune(" a~\x00\x1f\x7fä")), 1, 130, -1)
	rapid.Check(t, func(t *rapid.T) {
		h := rapid.SampledFrom([]*handler{own, shared}).Draw(t, "handler")
		fake.set(rapid.SampledFrom(faults).Draw(t, "fault"), rapid.SampledFrom(faults).Draw(t, "away"))
		ctx := newGet(rapid.SampledFrom(paths).Draw(t, "path"))
		ctx.Request.Header.SetMethod(rapid.SampledFrom(methods).Draw(t, "method"))
		valid := true
		if rapid.Bool().Draw(t, "with a key") {
			key := keys.Draw(t, "key")
			ctx.Request.Header.Set(idHeader, key)
			valid = d.allowsKey(key)
		}
		h.serve(ctx)
		a := answered(ctx)
		if err := d.conforms(a); err != nil {
			t.Error(err)
		}
		counts := a.code == 200 || a.code == 500 || a.code == 503 || a.code == 504
		if h == shared && h.routes[a.path] != nil && d.at(a.method, d.template(a.path)) != nil && counts != valid {
			t.Errorf("status %d, but the key is allowed: %v", a.code, valid)
		}
	})
}

func answered(ctx *fasthttp.RequestCtx) answer {
	header := make(http.Header)
	for key, value := range ctx.Response.Header.All() {
		header.Add(string(key), string(value))
	}
	return answer{string(ctx.Method()), string(ctx.Path()), ctx.Response.StatusCode(), header, string(ctx.Response.Body())}
}

// allowsKey reports whether the description allows an idempotency key.
func (d description) allowsKey(key string) bool {
	schema := d.Components.Parameters["IdempotencyKey"].Value.Schema.Value
	return schema.VisitJSON(key, openapi3.EnableJSONSchema2020()) == nil
}

// The comparison finds what it must find.
func TestConforms(t *testing.T) {
	d := readDescription(t)
	json := http.Header{"Content-Type": {jsonType}}
	const good = `{"counter":1,"status":true,"lastChanged":"2023-12-11T04:45:08Z"}`
	for _, tt := range []struct {
		name string
		give answer
		ok   bool
	}{
		{"good", answer{"GET", "/status", 200, json, good}, true},
		{"good design", answer{"GET", "/status/mutex", 200, json, good}, true},
		{"no path", answer{"GET", "/nosuch", 404, json, `{"error":"x"}`}, true},
		{"no path, but found", answer{"GET", "/nosuch", 200, json, good}, false},
		{"no method, without Allow", answer{"PUT", "/status", 405, json, `{"error":"x"}`}, false},
		{"undescribed status", answer{"GET", "/health", 503, json, `{"error":"x"}`}, false},
		{"undescribed status of HEAD", answer{"HEAD", "/health", 503, json, ""}, false},
		{"in doubt", answer{"GET", "/status", 504, json, `{"error":"x","indeterminate":true}`}, true},
		{"in doubt, but not said", answer{"GET", "/status", 504, json, `{"error":"x"}`}, false},
		{"away, and not for how long", answer{"GET", "/status", 503, json, `{"error":"x"}`}, false},
		{"away and in doubt", answer{"GET", "/status", 503, http.Header{"Content-Type": {jsonType}, "Retry-After": {"1"}},
			`{"error":"x","indeterminate":true}`}, false},
		{"other type", answer{"GET", "/status", 200, http.Header{"Content-Type": {"text/html"}}, good}, false},
		{"text for a number", answer{"GET", "/status", 200, json, strings.Replace(good, "1", `"1"`, 1)}, false},
		{"no zone", answer{"GET", "/status", 200, json, strings.Replace(good, "Z", "", 1)}, false},
		{"one more field", answer{"GET", "/status", 200, json, strings.Replace(good, "{", `{"x":1,`, 1)}, false},
		{"a field less", answer{"GET", "/status", 200, json, `{"counter":1,"status":true}`}, false},
	} {
		if err := d.conforms(tt.give); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
