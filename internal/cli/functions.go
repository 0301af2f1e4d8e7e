package cli

import (
	"context"
	"net/http"

	"github.com/valyala/fasthttp"

	"contend/load"
	"contend/systems/counter"
)

// functions make the targets of func:NAME: the counter's HTTP handler without a
// network.
func functions() map[string]func() (load.Target, error) {
	return map[string]func() (load.Target, error){
		"counter-handler-atomic": func() (load.Target, error) { return newHandlerTarget("/status") },
		"counter-handler-mutex":  func() (load.Target, error) { return newHandlerTarget("/statusV2") },
	}
}

// handlerBatch is the number of calls per iteration.
const handlerBatch = 500

// handlerTarget is one service, whose handler every VU calls.
type handlerTarget struct {
	path  string
	serve fasthttp.RequestHandler
	end   func()
}

func newHandlerTarget(path string) (load.Target, error) {
	serve, end, err := counter.Handler()
	return &handlerTarget{path, serve, end}, err
}

// Local says that the target runs in this process.
func (t *handlerTarget) Local() {}

// NewVU makes a caller of the handler.
func (t *handlerTarget) NewVU(context.Context, int) (load.VU, error) {
	v := &handlerVU{serve: t.serve}
	v.ctx.Request.SetRequestURI(t.path)
	return v, nil
}

// Close ends the service.
func (t *handlerTarget) Close() error {
	t.end()
	return nil
}

type handlerVU struct {
	serve fasthttp.RequestHandler
	ctx   fasthttp.RequestCtx
}

// Do calls the handler handlerBatch times and checks each answer's status.
func (v *handlerVU) Do(context.Context) (load.Outcome, error) {
	out := load.Outcome{Status: http.StatusOK, Ops: handlerBatch}
	for range handlerBatch {
		v.ctx.Response.Reset()
		v.serve(&v.ctx)
		if status := v.ctx.Response.StatusCode(); status != http.StatusOK {
			out.Status, out.Failed = status, true
		}
		out.BytesIn += int64(len(v.ctx.Response.Body()))
	}
	return out, nil
}
