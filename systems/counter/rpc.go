package counter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"contend/systems/counter/counterpb"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
)

// streamWorkers is the number of goroutines that wait for calls. A fresh one
// per call grows its stack every time: 64 workers gave 1.16 times the calls per
// second of server CPU at 50 callers (median of 18 pairs, all of them above 1),
// 16 workers 1.09. A call that finds all of them busy gets a goroutine of its own.
const streamWorkers = 64

// An rpc is the gRPC side of the service.
type rpc struct {
	counterpb.UnimplementedIncrementCounterServer

	ln       net.Listener
	server   *grpc.Server
	health   *health.Server
	own      guarded       // nil if the counter is shared
	shared   *sharing      // nil if it is not
	draining chan struct{} // closed when the drain begins
	log      *slog.Logger
}

// newRPC returns the gRPC side with a counter of its own guarded by design, or
// with the shared one if it is set.
func newRPC(ln net.Listener, design string, s *sharing, log *slog.Logger) (*rpc, error) {
	r := &rpc{ln: ln, health: health.NewServer(), shared: s, draining: make(chan struct{}), log: log}
	if s == nil {
		var err error
		if r.own, err = newGuarded(design); err != nil {
			return nil, err
		}
	}
	r.server = grpc.NewServer(
		grpc.MaxRecvMsgSize(maxBodyBytes),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.ConnectionTimeout(readTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idleTimeout}),
		grpc.WaitForHandlers(true),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.StreamInterceptor(r.endOnDrain),
	)
	counterpb.RegisterIncrementCounterServer(r.server, r)
	grpc_health_v1.RegisterHealthServer(r.server, r.health)
	reflection.Register(r.server)
	r.setHealth(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	return r, nil
}

func (r *rpc) Increment(ctx context.Context, in *counterpb.IncrementBy) (_ *counterpb.Status, err error) {
	defer r.recovered(&err)
	n := in.GetValue()
	if n < 0 {
		return nil, status.Error(codes.InvalidArgument, "Value cannot be negative")
	}
	if err := ctx.Err(); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	value, err := r.increment(ctx, int64(n))
	if err != nil {
		return nil, err
	}
	return &counterpb.Status{Message: "Incremented value is " + strconv.FormatInt(value, 10)}, nil
}

// increment returns the value after the caller's own change, or an error with a
// status.
func (r *rpc) increment(ctx context.Context, n int64) (int64, error) {
	if r.shared == nil {
		c, err := r.own.increment(n)
		if err != nil {
			return 0, status.Error(codes.Unavailable, err.Error())
		}
		return c.value, nil
	}
	id := ""
	if ids := metadata.ValueFromIncomingContext(ctx, idMetadata); len(ids) > 0 {
		id = ids[0]
		if len(ids) > 1 || !validID(id) {
			return 0, status.Error(codes.InvalidArgument, errID.Error())
		}
	}
	c, err := r.shared.Increment(ctx, n, id)
	if err != nil {
		_, code := meaning(err)
		return 0, status.Error(code, err.Error())
	}
	return c.Value, nil
}

// recovered turns a panic into an answer. It must be deferred itself.
func (r *rpc) recovered(err *error) {
	if p := recover(); p != nil {
		r.log.Error("panic in a call", "panic", p, "stack", string(debug.Stack()))
		*err = status.Error(codes.Internal, "internal fault")
	}
}

func (r *rpc) serve() error {
	if r.shared == nil {
		r.setHealth(grpc_health_v1.HealthCheckResponse_SERVING)
	} else {
		var watch sync.WaitGroup
		watch.Go(r.followRedis)
		defer watch.Wait()
	}
	err := r.server.Serve(r.ln)
	if errors.Is(err, grpc.ErrServerStopped) {
		return nil // stopped before it began
	}
	return err
}

// followRedis has the health service say whether the shared counter can be
// reached, until the drain begins.
func (r *rpc) followRedis() {
	const look = 100 * time.Millisecond // reading it costs nothing
	tick := time.NewTicker(look)
	defer tick.Stop()
	was := grpc_health_v1.HealthCheckResponse_NOT_SERVING
	for {
		is := grpc_health_v1.HealthCheckResponse_SERVING
		if r.shared.Ready() != nil {
			is = grpc_health_v1.HealthCheckResponse_NOT_SERVING
		}
		if is != was {
			r.setHealth(is)
			was = is
		}
		select {
		case <-tick.C:
		case <-r.draining:
			return
		}
	}
}

// drain answers the calls in flight; later ones find the port closed, which a
// client reports as UNAVAILABLE. When ctx ends first it cuts off what is left.
func (r *rpc) drain(ctx context.Context) error {
	r.health.Shutdown()
	close(r.draining)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		r.server.GracefulStop()
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
	}
	r.server.Stop()
	<-stopped
	return fmt.Errorf("gRPC calls cut off: %w", ctx.Err())
}

// close ends the guard. Callers that are inside get their answers; the server
// ends the contexts of those that wait for a shared counter.
func (r *rpc) close() {
	if r.own != nil {
		_ = r.own.Close()
	}
}

func (r *rpc) setHealth(s grpc_health_v1.HealthCheckResponse_ServingStatus) {
	r.health.SetServingStatus("", s)
	r.health.SetServingStatus(counterpb.IncrementCounter_ServiceDesc.ServiceName, s)
}

// endOnDrain ends the context of a stream when the drain begins. A health
// watch lasts as long as its client likes, and would hold up every stop.
func (r *rpc) endOnDrain(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	ctx, cancel := context.WithCancel(ss.Context())
	defer cancel()
	go func() {
		select {
		case <-r.draining:
			cancel()
		case <-ctx.Done():
		}
	}()
	return next(srv, endingStream{ss, ctx})
}

type endingStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s endingStream) Context() context.Context { return s.ctx }
