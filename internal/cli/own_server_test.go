package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/protocol"
)

// A server of run and sweep gets its environment and its folder, and so does that of the next command that the page
// suggests.
func TestOwnServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.Write(t, filepath.Join(dir, "here"), "")
	const command = `sh -c 'test -e here && test "$GREETING" = "a b" && exec subject -listen {{addr}}'`
	for _, tt := range []struct {
		flags []string
		codes []int
	}{
		{[]string{"--env", "GREETING=a b", "--dir", dir}, figures},
		{[]string{"--env", "GREETING=a b"}, []int{exitFailed}},
		{[]string{"--dir", dir}, []int{exitFailed}},
		{[]string{"--env", "GREETING", "--dir", dir}, []int{exitUsage}},
	} {
		for _, args := range [][]string{{"run", "-n", "20"}, {"sweep", "--levels", "1,2", "--visits", "1", "--think", "5ms", "--block", window.String(), "--warmup", "0s", "-d", "1m"}} {
			args = slices.Concat(args, tt.flags, []string{"--command", command, "http://{{addr}}/"})
			var out, errs strings.Builder
			if code := Main(t.Context(), args, Streams{&out, &errs}); !slices.Contains(tt.codes, code) && !starved(code, out.String()+errs.String()) {
				t.Errorf("%q: exit code %d, want %v: %s%s", args, code, tt.codes, &out, &errs)
			}
			if slices.Equal(tt.codes, figures) && !strings.Contains(out.String(), "\n  http://{{addr}}/\n") {
				t.Errorf("%q: the page does not say the URL as it was typed: %s", args, &out)
			}
		}
	}
	s := ownServer{Env: []string{"A=b"}}
	if err := s.check(protocol.At("http://h/")); err == nil || !strings.Contains(err.Error(), "--command") {
		t.Errorf("without a command: %v", err)
	}
	s = ownServer{Command: "./a {{addr}}", Env: []string{"A=b", "C=d"}, Dir: "x"}
	const same = "--command ./a {{addr}} --env A=b --env C=d --dir x"
	for _, tt := range []struct {
		fleet fleetOptions
		want  string
	}{
		{fleetOptions{}, same},
		{fleetOptions{Workers: 2}, "--workers 2 " + same},
		{fleetOptions{Fleet: "h:4222", Workers: 3, fleetSecurity: fleetSecurity{CA: "ca.pem", Insecure: true}}, "--fleet h:4222 --workers 3 --fleet-ca ca.pem --insecure-fleet " + same},
		{fleetOptions{Fleet: "nats://me:secret@h", Workers: 3}, same},
	} {
		if got := strings.Join(s.again(&tt.fleet), " "); got != tt.want {
			t.Errorf("again with %q, want %q", got, tt.want)
		}
	}
	if got := strings.Join((&ownServer{}).again(&fleetOptions{Workers: 2}), " "); got != "--workers 2" {
		t.Errorf("without a command again with %q", got)
	}
}
