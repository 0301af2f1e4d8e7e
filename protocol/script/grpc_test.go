package script

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
	"contend/systems/counter/counterpb"
)

const tillProto = `syntax = "proto3";
package shop;
message Item { int32 value = 1; }
message Answer { string message = 1; int64 left = 2; }
service Till {
  rpc Ring(Item) returns (Answer);
  rpc Slow(Item) returns (Answer);
  rpc Meet(Item) returns (Answer);
  rpc Watch(Item) returns (stream Answer);
  rpc Pour(stream Item) returns (Answer);
  rpc Talk(stream Item) returns (stream Answer);
}`

// met is how two calls of Meet find each other.
var met = make(chan struct{})

// asIs is a codec of bytes.
type asIs struct{}

func (asIs) Marshal(v any) ([]byte, error)      { return v.([]byte), nil }
func (asIs) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (asIs) Name() string                       { return "proto" }

func answer(text string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), text)
}

// till serves tillProto: it answers with values that it gets.
func till(_ any, s grpc.ServerStream) error {
	path, _ := grpc.MethodFromServerStream(s)
	method := path[strings.LastIndex(path, "/")+1:]
	if !strings.HasPrefix(path, "/shop.Till/") {
		return status.Error(codes.Unimplemented, path)
	}
	sum, n := uint64(0), 0
	for {
		var item []byte
		if err := s.RecvMsg(&item); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		value := uint64(0)
		if len(item) > 0 {
			value, _ = protowire.ConsumeVarint(item[1:])
		}
		sum, n = sum+value, n+1
		if value == 13 {
			return status.Error(codes.InvalidArgument, "13 is bad luck")
		}
		if method == "Talk" {
			if err := s.SendMsg(answer(fmt.Sprint("heard ", value))); err != nil {
				return err
			}
		}
	}
	switch method {
	case "Meet": // another call
		select {
		case met <- struct{}{}:
		case <-met:
		case <-s.Context().Done():
			return status.FromContextError(s.Context().Err()).Err()
		}
		return s.SendMsg(answer("met"))
	case "Slow":
		<-s.Context().Done()
		return status.FromContextError(s.Context().Err()).Err()
	case "Watch":
		for i := range sum {
			if err := s.SendMsg(answer(fmt.Sprint("saw ", i))); err != nil {
				return err
			}
		}
	case "Ring", "Pour":
		got, _ := metadata.FromIncomingContext(s.Context())
		s.SetTrailer(metadata.Pairs("who", strings.Join(got.Get("who"), "+")))
		return s.SendMsg(answer(fmt.Sprintf("%d of %d", sum, n)))
	}
	return nil
}

func serveTill(t testing.TB) (string, *grpc.Server) {
	server := grpc.NewServer(grpc.ForceServerCodec(asIs{}), grpc.UnknownServiceHandler(till))
	return listen(t, server), server
}

func listen(t testing.TB, server *grpc.Server) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	return listenOn(t, l, server)
}

func listenOn(t testing.TB, l net.Listener, server *grpc.Server) string {
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() { server.Stop(); <-served })
	return l.Addr().String()
}

// tillScript is a script with a connection to the till.
func tillScript(t testing.TB, body string) string {
	return testenv.Files(t, "flow.js", `import grpc from 'k6/net/grpc'; import { check, sleep } from 'k6';
		const client = new grpc.Client();
		client.load(['protos'], 'till.proto');
		let keep = [check, sleep];
		const assert = (ok, what) => check(ok, { ['not so: ' + what]: (holds) => holds });
		export default function () {
			client.connect(__ENV.BASE_URL, { plaintext: true });
`+body+`
			client.close();
		}`, "protos/till.proto", tillProto)
}

// asserted reports what a script has asserted, and was not so: its iteration may have been wrong before.
func asserted(t *testing.T, r *load.Result) {
	t.Helper()
	for _, c := range r.Checks {
		if strings.HasPrefix(c.Name, "not so: ") && c.Failed > 0 {
			t.Error(c.Name)
		}
	}
}

func TestGRPC(t *testing.T) {
	address, _ := serveTill(t)
	for _, c := range []struct{ name, body, cause, detail string }{
		{"unary", `const r = client.invoke('shop.Till/Ring', { value: 7 }, { metadata: { who: ['a', 'b'], 'x-bin': new Uint8Array([1, 255]).buffer }, tags: { name: 'ring' }, timeout: '5s' });
			assert(r.status === grpc.StatusOK && r.message.message === '7 of 1' && r.error === null, JSON.stringify(r));
			assert(r.message.left === '0' && r.trailers.who[0] === 'a+b' && r.headers['content-type'][0] === 'application/grpc', JSON.stringify(r));`, "", ""},
		{"status", `const r = client.invoke('/shop.Till/Ring', { value: 13 });
			assert(r.status === grpc.StatusInvalidArgument && r.message.message === '' && r.error.message === '13 is bad luck', JSON.stringify(r));`, "status 3", "InvalidArgument 13 is bad luck"},
		{"check", `check(client.invoke('shop.Till/Ring', {}), { 'is 8': (r) => r.message.message === '8 of 1' })`, "check failed: is 8", "/shop.Till/Ring: OK"},
		{"method", `client.invoke('shop.Till/Rang', {})`, "check failed: exception", `method is "shop.Till/Rang", but shop.Till has Meet, Pour, Ring, Slow, Talk, Watch`},
		{"service", `client.invoke('shop.Tall/Ring', {})`, "check failed: exception", `the proto files describe shop.Till`},
		{"no method", `client.invoke('Ring', {})`, "check failed: exception", `expected package.Service/Method`},
		{"field", `client.invoke('shop.Till/Ring', { valeu: 1 })`, "check failed: exception", `unknown field "valeu"; its fields: value (int32)`},
		{"type of a field", `client.invoke('shop.Till/Ring', { value: 'many' })`, "check failed: exception", `int32`},
		{"no message", `client.invoke('shop.Till/Ring')`, "check failed: exception", "needs a message"},
		{"param", `client.invoke('shop.Till/Ring', {}, { meta: {} })`, "check failed: exception", "params.meta is not known; "},
		{"metadata", `client.invoke('shop.Till/Ring', {}, { metadata: { 'grpc-x': '1' } })`, "check failed: exception", "reserved"},
		{"stream by invoke", `client.invoke('shop.Till/Watch', {})`, "check failed: exception", "which is a server stream"},
		{"unary by a stream", `new grpc.Stream(client, 'shop.Till/Ring')`, "check failed: exception", "which is unary"},
		{"closed", `client.close(); client.invoke('shop.Till/Ring', {})`, "check failed: exception", "invoke needs a connection"},
		{"again", `client.connect(__ENV.BASE_URL, { plaintext: true, maxSendSize: 1000 }); client.invoke('shop.Till/Ring', {});`, "", ""},
		{"load late", `client.load(null, 'till.proto')`, "check failed: exception", "outermost"},
		{"connect param", `client.connect(__ENV.BASE_URL, { plantext: true })`, "check failed: exception", "did you mean plaintext?"},
		{"reflection not offered", `client.connect(__ENV.BASE_URL, { plaintext: true, reflect: true })`, "check failed: exception", "has no reflection service"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := drive(t, Config{Script: tillScript(t, c.body), URL: "grpc://" + address}, 2, true)
			asserted(t, r)
			cameTo(t, r, 2, c.cause, c.detail)
		})
	}
}

func TestGRPCStreams(t *testing.T) {
	address, _ := serveTill(t)
	stream := func(method, then string) string {
		return `const got = [], done = () => got.join();
			const s = new grpc.Stream(client, 'shop.Till/` + method + `', { tags: { name: 'talk' } });
			s.on('data', (m) => got.push(m.message)); s.on('error', (e) => got.push(e.code + e.message)); s.on('end', () => { got.push('end'); ended(got.join()); client.close(); });
			let ended = (text) => assert(false, text); ` + then + ` return;`
	}
	for _, c := range []struct{ name, body, cause string }{
		{"server", stream("Watch", `s.write({ value: 2 }); ended = (t) => assert(t === 'saw 0,saw 1,end', t);`), ""},
		{"client", stream("Pour", `for (let i = 1; i < 4; i++) s.write({ value: i }); s.end(); ended = (t) => assert(t === '6 of 3,end', t);`), ""},
		{"both", stream("Talk", `s.write({ value: 1 }); setTimeout(() => { s.write({ value: 2 }); s.end(); }, 5); ended = (t) => assert(t === 'heard 1,heard 2,end', t);`), ""},
		{"status", stream("Talk", `s.write({ value: 13 }); ended = (t) => assert(t === '313 is bad luck,end', t);`), "status 3"},
		{"exception in a handler", stream("Watch", `s.write({ value: 1 }); ended = (t) => { throw new Error(t); };`), "check failed: exception"},
		{"unknown event", stream("Watch", `s.on('date', () => {});`), "check failed: exception"},
		{"metadata", `const s = new grpc.Stream(client, 'shop.Till/Talk'); let seen; s.on('metadata', (m) => { seen = m['content-type'][0]; });
			s.on('end', () => { assert(seen === 'application/grpc', seen); client.close(); }); s.write({ value: 1 }); s.end(); return;`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := drive(t, Config{Script: tillScript(t, c.body), URL: "grpc://" + address}, 3, true)
			asserted(t, r)
			cameTo(t, r, 3, c.cause, "")
		})
	}
}

// Asynchronous calls run concurrently over one connection, and an error of one rejects its promise.
func TestGRPCAsync(t *testing.T) {
	address, _ := serveTill(t)
	for _, c := range []struct{ name, body, cause, detail string }{
		{"two", `const all = await Promise.all([1, 2].map(() => client.asyncInvoke('shop.Till/Meet', {}, { tags: { name: 'meet' } })));
			assert(all.every((r) => r.status === grpc.StatusOK && r.message.message === 'met'), JSON.stringify(all));`, "", ""},
		{"nobody waits", `client.asyncInvoke('shop.Till/Ring', { value: 7 }).then((r) => assert(r.message.message === '7 of 1', JSON.stringify(r)))`, "", ""},
		{"status", `const r = await client.asyncInvoke('shop.Till/Ring', { value: 13 }); assert(r.status === grpc.StatusInvalidArgument, JSON.stringify(r));`, "status 3", "13 is bad luck"},
		{"caught", `let got = ''; await client.asyncInvoke('shop.Till/Rang', {}).catch((e) => { got = e.message; }); assert(got.includes('Rang'), got);`, "", ""},
		{"method", `await client.asyncInvoke('shop.Till/Rang', {})`, "check failed: exception", `method is "shop.Till/Rang"`},
		{"stream", `await client.asyncInvoke('shop.Till/Watch', {})`, "check failed: exception", "which is a server stream"},
		{"closed", `client.close(); await client.asyncInvoke('shop.Till/Ring', {})`, "check failed: exception", "asyncInvoke needs a connection"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := drive(t, Config{Script: tillScript(t, "return (async () => {"+c.body+"})();"), URL: "grpc://" + address}, 2, true)
			asserted(t, r)
			cameTo(t, r, 2, c.cause, c.detail)
		})
	}
	for _, body := range []string{ // whichever is first, the close or the connection that the call needs
		`const p = client.asyncInvoke('shop.Till/Slow', {}); client.close(); return p.then((r) => assert(r.status === grpc.StatusCanceled || r.status === grpc.StatusUnavailable, JSON.stringify(r)))`,
		`const p = client.asyncInvoke('shop.Till/Slow', {}, { timeout: 10 }); return p.then((r) => assert(r.status === grpc.StatusDeadlineExceeded, JSON.stringify(r)))`,
	} {
		r := drive(t, Config{Script: tillScript(t, body), URL: "grpc://" + address}, 2, true)
		asserted(t, r)
		if r.Completed+r.Failed != 0 || r.Requests["/shop.Till/Slow"].Errored != 2 {
			t.Errorf("%s: %d completed, %+v, %v", body, r.Completed, r.Faults, r.Errored)
		}
	}
}

// A server says how its services are.
func TestGRPCHealth(t *testing.T) {
	server, states := grpc.NewServer(), health.NewServer()
	states.SetServingStatus("shop.Till", healthpb.HealthCheckResponse_NOT_SERVING)
	healthpb.RegisterHealthServer(server, states)
	address := listen(t, server)
	for _, c := range []struct{ body, cause, detail string }{
		{`assert(client.healthCheck().status === grpc.HealthCheckServing, 'serving');
			assert(client.healthCheck('shop.Till', { timeout: '5s', tags: { name: 'health' } }).status === grpc.HealthCheckNotServing, 'not serving');`, "", ""},
		{`client.healthCheck('shop.Tall')`, "status 5", "unknown service"},
	} {
		r := drive(t, Config{Script: tillScript(t, c.body), URL: "grpc://" + address}, 2, true)
		asserted(t, r)
		cameTo(t, r, 2, c.cause, c.detail)
		if c.cause == "" && r.Requests["health"].Completed != 2 {
			t.Errorf("requests %v", r.Requests)
		}
	}
}

// A set of descriptors can replace .proto files.
func TestGRPCProtoset(t *testing.T) {
	encoded, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(counterpb.File_counter_proto)}})
	testenv.Must(t, err)
	path := testenv.Files(t, "flow.js", `import grpc from 'k6/net/grpc';
		const client = new grpc.Client();
		const [method] = client.loadProtoset('counter.protoset');
		export default () => {
			client.connect(__ENV.BASE_URL, { plaintext: true });
			const r = client.invoke(method.fullMethod, { value: 1 });
			if (r.message.message !== 'Incremented value is 1') throw new Error(JSON.stringify([method, r]));
			client.close();
		};`, "counter.protoset", string(encoded))
	if r := drive(t, Config{Script: path, URL: "grpc://" + serveCounter(t)}, 3, true); r.Completed != 3 {
		t.Errorf("%d of 3 completed: %+v %v", r.Completed, r.Faults, r.Errored)
	}
}

// HTTP and gRPC in one script, also on event loops.
func TestGRPCAndHTTP(t *testing.T) {
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) {
		address, _ := serveTill(t)
		path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import grpc from 'k6/net/grpc';
			const client = new grpc.Client();
			client.load(null, 'till.proto');
			export default function () {
				client.connect(__ENV.TILL, { plaintext: true });
				const n = http.get(__ENV.BASE_URL + '/echo').status;
				const r = client.invoke('shop.Till/Ring', { value: n });
				if (r.message.message !== '200 of 1') throw new Error(JSON.stringify(r));
				const s = new grpc.Stream(client, 'shop.Till/Talk');
				s.write({ value: http.get(__ENV.BASE_URL + '/echo').status });
				s.on('data', () => s.end());
				s.on('end', () => { http.get(__ENV.BASE_URL + '/echo'); client.close(); });
			}`, "till.proto", tillProto)
		r := drive(Config{Script: path, URL: shop(t).URL, Env: []string{"TILL=" + address}}, 5)
		if r.Completed != 5 || r.Requests["GET /echo"].Completed != 15 || r.Requests["/shop.Till/Talk"].Completed != 5 {
			t.Errorf("%d of 5 completed: %+v %v", r.Completed, r.Faults, r.Errored)
		}
	})
}

// The outcome of a call without an answer.
func TestGRPCUnanswered(t *testing.T) {
	address, server := serveTill(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	defer silent.Close()
	r := drive(t, Config{URL: "grpc://" + address, Script: tillScript(t, `
		const r = client.invoke('shop.Till/Slow', {}, { timeout: 20 });
		assert(r.status === grpc.StatusDeadlineExceeded && r.error.code === 4, JSON.stringify(r));`)}, 2, true)
	asserted(t, r)
	if r.Errored["timeout"] != 2 || r.Requests["/shop.Till/Slow"].Errored != 2 {
		t.Errorf("deadline: errored %v, faults %+v", r.Errored, r.Faults)
	}
	r = drive(t, Config{URL: "grpc://" + address, Script: tillScript(t, `client.connect('`+silent.Addr().String()+`', { plaintext: true, timeout: 20 });`)}, 2, true)
	if r.Errored["timeout"] != 2 {
		t.Errorf("silent server: errored %v, faults %+v", r.Errored, r.Faults)
	}
	dying := tillScript(t, `
		client.invoke('shop.Till/Ring', {});
		console.log('stop the server');
		const r = client.invoke('shop.Till/Ring', {});
		assert(r.status === grpc.StatusUnavailable && r.message.message === '', JSON.stringify(r));`)
	r = driveIn(t, wire.Surroundings{Console: writer(server.Stop)}, Config{URL: "grpc://" + address, Script: dying}, 1, true)
	asserted(t, r)
	if r.Errored["refused"]+r.Errored["closed"]+r.Errored["reset"] != 1 || r.Requests["/shop.Till/Ring"].Errored != 1 {
		t.Errorf("dying server: errored %v, faults %+v", r.Errored, r.Faults)
	}
	r = drive(t, Config{URL: "grpc://" + address, Script: tillScript(t, `throw new Error('it goes on');`)}, 2, true)
	if r.Errored["refused"] != 2 {
		t.Errorf("no server: errored %v, faults %+v", r.Errored, r.Faults)
	}
}

// The end of a run ends calls and streams.
func TestGRPCEndless(t *testing.T) {
	t.Parallel()
	address, _ := serveTill(t)
	for _, body := range []string{
		`client.invoke('shop.Till/Slow', {})`,
		`const s = new grpc.Stream(client, 'shop.Till/Talk'); s.write({ value: 1 }); return;`,
		`const s = new grpc.Stream(client, 'shop.Till/Watch'); s.on('data', () => {}); s.write({ value: 1000000000 }); return;`,
	} {
		for _, url := range []string{"grpc://" + address, shop(t).URL} {
			target := newTarget(t, Config{Script: tillScript(t, body), URL: url, Env: []string{"BASE_URL=" + address}})
			unfinished(t, body, target)
		}
	}
}

// one is a counter that stays at 1.
type one struct {
	counterpb.UnimplementedIncrementCounterServer
}

func (one) Increment(context.Context, *counterpb.IncrementBy) (*counterpb.Status, error) {
	return &counterpb.Status{Message: "Incremented value is 1"}, nil
}

func serveCounter(t testing.TB) string { return listen(t, newCounter()) }

func newCounter() *grpc.Server {
	server := grpc.NewServer()
	counterpb.RegisterIncrementCounterServer(server, one{})
	reflection.Register(server)
	return server
}

// A script asks the server by reflection, at another address than it names.
func TestGRPCReflection(t *testing.T) {
	address := serveCounter(t)
	path := testenv.Files(t, "flow.js", `import { Client, StatusOK } from 'k6/net/grpc'; import { check } from 'k6';
		const client = new Client();
		export default () => {
			if (__ITER === 0) client.connect('localhost:50055', { plaintext: true, reflect: true, timeout: '5s' });
			check(client.invoke('counter.incrementCounter/increment', { value: 1 }), { 'OK': (r) => r.status === StatusOK && r.message.message.startsWith('Incremented') });
		};`)
	for _, origin := range []string{"localhost:50055", "grpc://localhost:50055"} {
		if r := drive(t, Config{Script: path, URL: "grpc://" + address, Origin: origin}, 3, true); r.Completed != 3 {
			t.Errorf("%d of 3 completed: %+v %v", r.Completed, r.Faults, r.Errored)
		}
	}
}

func TestGRPCRefused(t *testing.T) {
	begin := "import grpc from 'k6/net/grpc';\nconst client = new grpc.Client();\nexport default function () {}\n"
	for _, c := range []struct {
		name, text string
		config     Config
		want       string
	}{
		{"no file", begin + "client.load(null, 'none.proto');", Config{}, "flow.js:4:12: Error: load: "},
		{"no proto", begin + "client.load(null, 'flow.js');", Config{}, "syntax error"},
		{"outside", begin + "client.load(['/etc'], 'passwd');", Config{}, "is outside of"},
		{"no files", begin + "client.load([]);", Config{}, "load needs a .proto file"},
		{"no set", begin + "client.loadProtoset('none.protoset');", Config{}, "flow.js:4:20: Error: loadProtoset: "},
		{"a set that is none", begin + "client.loadProtoset('flow.js');", Config{}, "it is no set of descriptors"},
		{"connect in init", begin + "client.connect('localhost:1');", Config{}, "connect works within an iteration"},
		{"origin without URL", begin, Config{Origin: "localhost:1"}, "no URL"},
		{"origin of another kind", begin, Config{Origin: "localhost:1", URL: "http://localhost:2"}, "cannot replace it"},
		{"URL with a method", begin, Config{URL: "grpc://localhost:1/a.B/C"}, "grpc://host:port"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Script = testenv.Files(t, "flow.js", c.text)
			refuses(t, c.config, c.want)
		})
	}
}
