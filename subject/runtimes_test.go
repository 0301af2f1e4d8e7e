package subject

import (
	"strings"
	"testing"
)

func TestNamed(t *testing.T) {
	options := " " + strings.Join(naming, " ")
	for _, tt := range []struct{ command, want string }{
		{"node server.js", "node" + options + " server.js"},
		{"/usr/bin/nodejs --inspect server.js", "/usr/bin/nodejs" + options + " --inspect server.js"},
		{"env ADDR=x node server.js", "env ADDR=x node" + options + " server.js"},
		{"./node_modules/.bin/server node", "./node_modules/.bin/server node"},
		{"python3 server.py", "python3 server.py"},
		{"env", "env"},
	} {
		if got := strings.Join(named(strings.Fields(tt.command)), " "); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.command, got, tt.want)
		}
	}
	for _, asked := range []bool{false, true} {
		cmd := command(Config{Command: []string{"node", "server.js"}, Named: asked}, nil)
		if has := strings.Contains(strings.Join(cmd.Env, "\n")+"\n", namingEnv+"\n"); has != asked || (len(cmd.Args) > 2) != asked {
			t.Errorf("asked %v: %q, in the environment %v", asked, cmd.Args, has)
		}
	}
}
