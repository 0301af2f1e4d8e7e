package counter

import (
	"encoding/json"
	"log/slog"
	"runtime/debug"

	"github.com/valyala/fasthttp"

	"contend/systems/web"
)

const jsonType = "application/json"

// A handler answers the HTTP contract. A status costs no allocation.
type handler struct {
	routes  map[string]*statusRoute
	shared  *sharing // nil if every path has a counter of its own
	phase   *phase
	seen    *requests
	metrics fasthttp.RequestHandler
	log     *slog.Logger
}

func (h *handler) serve(ctx *fasthttp.RequestCtx) {
	defer h.recovered(ctx)
	if h.phase.draining() && h.refuse(ctx) {
		return
	}
	r := h.routes[string(ctx.Path())]
	if r == nil {
		h.serveOther(ctx)
		return
	}
	if !ctx.IsGet() && !ctx.IsHead() {
		h.refuseMethod(ctx)
		return
	}
	h.serveStatus(ctx, r)
}

func (h *handler) serveStatus(ctx *fasthttp.RequestCtx, r *statusRoute) {
	if h.shared != nil {
		h.serveShared(ctx, r)
		return
	}
	c, err := r.own.increment(1)
	if err != nil {
		h.fail(ctx, problem{code: fasthttp.StatusServiceUnavailable, text: err.Error()})
		return
	}
	answerChange(ctx, r, c)
}

func (h *handler) serveShared(ctx *fasthttp.RequestCtx, r *statusRoute) {
	id, err := idOf(&ctx.Request.Header)
	if err != nil {
		h.fail(ctx, problem{code: fasthttp.StatusBadRequest, text: err.Error()})
		return
	}
	c, err := h.shared.Increment(h.shared.calls, 1, id)
	if err != nil {
		p, _ := meaning(err)
		h.fail(ctx, p)
		return
	}
	r.answered.Add(1)
	answerChange(ctx, r, change{value: c.Value, at: c.At})
}

// idOf returns the idempotency key of a request, "" if it has none.
func idOf(header *fasthttp.RequestHeader) (string, error) {
	keys := header.PeekAll(idHeader)
	if len(keys) == 0 {
		return "", nil
	}
	if len(keys) > 1 || !validID(keys[0]) {
		return "", errID
	}
	return string(keys[0]), nil
}

func answerChange(ctx *fasthttp.RequestCtx, r *statusRoute, c change) {
	var buf [answerSize]byte
	ctx.Response.Header.SetContentType(jsonType)
	ctx.Response.SetBody(appendAnswer(buf[:0], c, r.stamps.text(c.at)))
}

// serveOther answers every path that is not spelled as a counting path.
func (h *handler) serveOther(ctx *fasthttp.RequestCtx) {
	path := string(ctx.Path())
	switch path {
	case pathHealth, pathReady, pathMetrics, pathOpenAPI, pathProto:
		if !ctx.IsGet() && !ctx.IsHead() {
			h.refuseMethod(ctx)
			return
		}
		h.serveProbe(ctx, path)
		return
	}
	name, bad := h.canonical(path)
	switch {
	case bad != nil:
		h.fail(ctx, *bad)
	case !ctx.IsGet() && !ctx.IsHead():
		h.refuseMethod(ctx)
	default:
		h.serveStatus(ctx, h.routes[name])
	}
}

func (h *handler) canonical(path string) (string, *problem) {
	if h.shared != nil {
		return h.shared.canonical(path)
	}
	return canonical(path)
}

// notReady returns why the server is not ready, "" if it is.
func (h *handler) notReady() string {
	if !h.phase.serving() {
		return "not ready"
	}
	if h.shared == nil {
		return ""
	}
	if err := h.shared.Ready(); err != nil {
		return "not ready: " + err.Error()
	}
	return ""
}

func (h *handler) serveProbe(ctx *fasthttp.RequestCtx, path string) {
	switch path {
	case pathMetrics:
		h.metrics(ctx)
	case pathOpenAPI, pathProto:
		serveDescription(ctx, path)
	case pathReady:
		if why := h.notReady(); why != "" {
			h.fail(ctx, problem{code: fasthttp.StatusServiceUnavailable, text: why})
			return
		}
		fallthrough
	default:
		ctx.SetContentType(jsonType)
		ctx.SetBodyString(`{"ok":true}`)
	}
	h.seen.count(path, ctx.Response.StatusCode())
}

// refuse announces the end of the connection of a request that is answered
// while draining, and refuses the request if its connection is younger than
// that. Probes are answered to the end.
func (h *handler) refuse(ctx *fasthttp.RequestCtx) bool {
	ctx.SetConnectionClose()
	if !web.IsLate(ctx) {
		return false
	}
	switch string(ctx.Path()) {
	case pathHealth, pathReady, pathMetrics:
		return false
	}
	h.fail(ctx, problem{code: fasthttp.StatusServiceUnavailable, text: "the server is stopping"})
	return true
}

func (h *handler) refuseMethod(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set(fasthttp.HeaderAllow, "GET, HEAD")
	h.fail(ctx, problem{code: fasthttp.StatusMethodNotAllowed, text: "the methods are GET and HEAD"})
}

// recovered turns a panic into an answer. It must be deferred itself.
func (h *handler) recovered(ctx *fasthttp.RequestCtx) {
	p := recover()
	if p == nil {
		return
	}
	h.log.Error("panic in a request", "path", string(ctx.Path()), "panic", p, "stack", string(debug.Stack()))
	ctx.Response.Reset()
	h.fail(ctx, problem{code: fasthttp.StatusInternalServerError, text: "internal fault"})
}

// unreadable answers what never became a request. A connection on which
// nothing was sent is closed without a word.
func (h *handler) unreadable(ctx *fasthttp.RequestCtx, err error) {
	p := problem{code: web.Refusal(ctx, err)}
	switch {
	case p.code == 0:
		return
	case h.phase.draining():
		p = problem{code: fasthttp.StatusServiceUnavailable, text: "the server is stopping"}
	case p.code == fasthttp.StatusRequestHeaderFieldsTooLarge:
		p.text = "the header is too large"
	case p.code == fasthttp.StatusRequestEntityTooLarge:
		p.text = "the body is too large"
	case p.code == fasthttp.StatusRequestTimeout:
		p.text = "the request took too long"
	default:
		p.text = "not an HTTP request"
	}
	h.fail(ctx, p)
}

func (h *handler) fail(ctx *fasthttp.RequestCtx, p problem) {
	body, _ := json.Marshal(struct { // a struct of a string and a flag cannot fail
		Error         string `json:"error"`
		Indeterminate bool   `json:"indeterminate,omitempty"`
	}{p.text, p.indeterminate})
	ctx.SetStatusCode(p.code)
	if p.code == fasthttp.StatusServiceUnavailable {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1") // seconds
	}
	ctx.SetContentType(jsonType)
	ctx.SetBody(body)
	h.seen.count(string(ctx.Path()), p.code)
}
