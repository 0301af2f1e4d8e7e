package discover

import (
	"testing"

	"contend/failure"
	"contend/internal/testenv"
)

// page is a service of HTTP that answers these paths rightly, and / wrongly unless that is among them.
func page(right ...string) Service {
	s := Service{Scheme: "http"}
	for _, path := range right {
		s.Answers = append(s.Answers, Answer{path, true, "200"})
	}
	if len(right) == 0 || right[0] != "/" {
		s.Answers = append(s.Answers, Answer{"/", false, "404"})
	}
	return s
}

func at(number int, s Service) Port { return Port{Number: number, Fixed: true, Service: s} }

func TestChoose(t *testing.T) {
	root, redis := page("/"), Service{Speaks: "RESP"}
	told, given := Port{Told: true, Service: root}, Port{Number: 40000, Service: root}
	secure := Service{Scheme: "https", Answers: root.Answers}
	only2 := Service{Scheme: "http", HTTP2: true, Answers: root.Answers}
	method := Service{Scheme: "grpc", Answers: []Answer{{"/a.B/C", true, "code 0"}, {"/a.B/D", true, "code 0"}, {"/a.B/E", false, "code 3"}}}
	type ports = []Port
	for name, tt := range map[string]struct {
		a, b ports // b: nil of one server
		port int
		want Choice
		says string // in the error
	}{
		"told":            {ports{told}, ports{told}, 0, Choice{URL: "http://{{addr}}/"}, ""},
		"one insists":     {ports{at(80, root)}, nil, 0, Choice{URL: "http://localhost:80/"}, ""},
		"both insist":     {ports{at(80, root)}, ports{at(80, root)}, 0, Choice{URL: "http://localhost:80/"}, ""},
		"differently":     {ports{at(80, root)}, ports{at(81, root)}, 0, Choice{URL: "http://{{addr}}/"}, ""},
		"told or not":     {ports{told}, ports{at(81, root)}, 0, Choice{URL: "http://localhost:81/"}, ""},
		"the same twice":  {ports{given}, ports{given}, 0, Choice{URL: "http://localhost:40000/"}, ""},
		"by the system":   {ports{given}, ports{{Number: 40001, Service: root}}, 0, Choice{URL: "http://{{addr}}/"}, ""},
		"once":            {ports{at(80, root)}, ports{given}, 0, Choice{URL: "http://{{addr}}/"}, ""},
		"TLS":             {ports{at(80, secure)}, nil, 0, Choice{URL: "https://localhost:80/", Insecure: true}, ""},
		"told of two":     {ports{told, at(80, root)}, ports{told}, 0, Choice{URL: "http://{{addr}}/"}, ""},
		"only HTTP/2":     {ports{at(80, only2)}, nil, 0, Choice{URL: "http://localhost:80/", HTTP2: true}, ""},
		"gRPC":            {ports{at(80, method)}, nil, 0, Choice{URL: "grpc://localhost:80/a.B/C", Also: "also there: /a.B/D; not /a.B/E (code 3)"}, ""},
		"one of two":      {ports{at(70, redis), at(80, root)}, nil, 0, Choice{URL: "http://localhost:80/", Also: "port 70 (RESP): --port 70"}, ""},
		"HTTP of both":    {ports{at(70, method), at(80, root)}, nil, 0, Choice{URL: "http://localhost:80/", Also: "port 70 (gRPC): --port 70"}, ""},
		"a page at /":     {ports{at(70, page("/metrics")), at(80, root)}, nil, 0, Choice{URL: "http://localhost:80/", Also: "port 70 (HTTP): --port 70"}, ""},
		"chosen":          {ports{at(80, root), at(81, root)}, nil, 81, Choice{URL: "http://localhost:81/", Also: "port 80 (HTTP): --port 80"}, ""},
		"several":         {ports{at(80, root), at(81, root)}, nil, 0, Choice{}, "A listens on port 80 (HTTP) and port 81 (HTTP): choose one with --port, as in --port 80"},
		"none like that":  {ports{at(80, root)}, nil, 82, Choice{}, "--port is 82, but A listens on port 80 (HTTP)"},
		"not HTTP":        {ports{at(6379, redis)}, nil, 0, Choice{}, "A listens on port 6379 (RESP): contend drives HTTP"},
		"neither":         {ports{at(6379, redis)}, ports{at(6380, redis)}, 0, Choice{}, "B listens on port 6380 (RESP): contend drives HTTP"},
		"unlike":          {ports{at(80, root)}, ports{at(80, secure)}, 0, Choice{}, "A speaks HTTP, but B HTTPS"},
		"another at each": {ports{given, at(70, redis)}, nil, 0, Choice{}, "the port differs between servers or starts"},
		"a health page":   {ports{at(80, page("/health", "/ready"))}, nil, 0, Choice{URL: "http://localhost:80/health", Also: "also there: /ready; not / (404)"}, ""},
		"the second path": {ports{{Told: true, Service: page("/health", "/ready")}}, ports{{Told: true, Service: page("/ready")}}, 0,
			Choice{URL: "http://{{addr}}/ready", Also: "not /health (200 and not tried), / (404 and 404)"}, ""},
		"nothing right": {ports{at(80, page())}, nil, 0, Choice{}, "A answers nothing rightly that was asked for: / (404); name what to ask for with http://localhost:80/PATH as the URL"},
		"nothing of one": {ports{at(80, root)}, ports{at(80, page())}, 0, Choice{},
			"no path that was tried is answered rightly by all servers: / (200 and 404); name what to ask for with http://localhost:80/PATH as the URL"},
		"no method": {ports{at(80, Service{Scheme: "grpc"})}, nil, 0, Choice{}, "grpc://localhost:80/package.Service/Method"},
	} {
		servers := []*Server{{"A", tt.a}}
		if tt.b != nil {
			servers = append(servers, &Server{"B", tt.b})
		}
		got, err := Choose(servers, tt.port)
		if tt.says != "" {
			testenv.Says(t, err, tt.says)
			var kind failure.Kind
			arm := ""
			if f, failed := failure.Of(err); failed {
				kind, arm = f.Kind, f.Arm
			}
			if (name == "not HTTP" || name == "neither") != (kind == failure.NotDriven) || (name == "neither") != (arm == "A") {
				t.Errorf("%s: a failure of kind %q of %q", name, kind, arm)
			}
		} else if err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, tt.want)
		}
	}
}
