package script

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/protocol/wire"
)

// __ENV has what is given, before the URL, before what the environment has, as in k6: the script
// throws where it is otherwise.
func TestEnvironment(t *testing.T) {
	environ := []string{"BASE_URL=http://environment", "TOKEN=of the environment", "EMPTY=", "EQUAL=a=b", "=C:=C:\\", "HOME=/root"}
	for _, tt := range []struct {
		config Config
		want   string // BASE_URL, TOKEN, EMPTY, EQUAL, and whether MISSING is there
	}{
		{Config{}, "http://environment|of the environment||a=b|false"},
		{Config{URL: "http://argument/"}, "http://argument|of the environment||a=b|false"},
		{Config{Env: []string{"TOKEN=given", "EMPTY=x"}}, "http://environment|given|x|a=b|false"},
		{Config{URL: "http://argument/", Env: []string{"BASE_URL=http://given"}}, "http://given|of the environment||a=b|false"},
	} {
		tt.config.Script = testenv.Files(t, "flow.js", fmt.Sprintf(`
			const got = [__ENV.BASE_URL, __ENV.TOKEN, __ENV.EMPTY, __ENV.EQUAL, 'MISSING' in __ENV].join('|');
			if (got !== %q) throw new Error('it is ' + got);
			export default function () {}`, tt.want))
		newTargetIn(t, wire.Surroundings{Environ: environ}, tt.config)
	}
}

// Another process gets what the script can look up, and nothing else of the environment.
func TestEnvironmentElsewhere(t *testing.T) {
	environ := []string{"BASE_URL=b", "TOKEN=t", "HOST=h", "PASSWORD=p", "PATH=/bin"}
	for _, tt := range []struct {
		text string
		url  string
		env  []string
		want string
	}{
		{"__ENV.TOKEN", "", nil, "TOKEN=t"},
		{"__ENV.TOKEN", "", []string{"TOKEN=given"}, "TOKEN=t TOKEN=given"}, // the last counts
		{"__ENV['TOKEN'] + __ENV?.HOST + `${__ENV[\"PATH\"]}`", "", nil, "TOKEN=t HOST=h PATH=/bin"},
		{"__ENV.BASE_URL", "", nil, "BASE_URL=b"},
		{"__ENV.BASE_URL", "http://h", nil, ""},
		{"__ENV.OTHER + 'TOKEN, PASSWORD'", "", nil, ""},
		{"(({ HOST, TOKEN: secret }) => HOST + secret)(__ENV)", "", nil, "TOKEN=t HOST=h"},
		{"((env) => env.PASSWORD)(__ENV)", "", nil, "PASSWORD=p"},
		{"['HOST', 'TOKEN'].map((name) => __ENV[name])", "", nil, "TOKEN=t HOST=h"},
		{"1", "", nil, ""},
	} {
		path := testenv.Files(t, "flow.js", "import { read } from './read.js';\nexport default function () { read(); }",
			"read.js", "export const read = () => "+tt.text+";\n// __ENV.PATH is not read, nor __ENV itself")
		c := Config{Script: path, URL: tt.url, Env: tt.env}
		got, err := c.Elsewhere(environ)
		if err != nil || !slices.Equal(got, strings.Fields(tt.want)) {
			t.Errorf("%s: %q %v, want %q", tt.text, got, err, tt.want)
		}
	}
}

// The server that the environment names is driven by event loops, though the script names another one
// where it does not.
func TestNearestOfTheEnvironment(t *testing.T) {
	server := shop(t)
	path := testenv.Files(t, "flow.js", `import http from 'k6/http';
		const host = __ENV.SHOP_URL || 'http://production.invalid';
		export default function () { http.get(host + '/echo'); }`)
	target := newTargetIn(t, wire.Surroundings{Environ: []string{"SHOP_URL=" + server.URL, "OTHER=http://other.invalid"}}, Config{Script: path})
	if "http://"+target.near.host != server.URL {
		t.Errorf("event loops connect to %q, want %s", target.near.host, server.URL)
	}
}
