package queue

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"contend/internal/redisserver/redistest"
	"contend/internal/testenv"
)

// The contract of gateways has the fields that are read, each once.
func TestContractNamesEachField(t *testing.T) {
	text, err := os.ReadFile("../../../docs/uplink.md")
	if err != nil {
		t.Fatal(err)
	}
	_, contract, found := strings.Cut(string(text), "## The contract of gateways, version "+byAddress+"\n")
	contract, _, _ = strings.Cut(contract, "\n## ")
	var named []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\|").FindAllStringSubmatch(contract, -1) {
		named = append(named, row[1])
	}
	if want := fieldNames(); !found || !slices.Equal(named, want) {
		t.Errorf("docs/uplink.md names %v, want %v", named, want)
	}
}

// An entry of a version that is not known is set aside with all its fields and the reason.
func TestNewerVersionsAreSetAside(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		entry := with(fieldVersion, "3", "colour", "blue")
		addRaw(t, r, keyUplinks+"3", [][]string{entry})
		produce(t, r, frames(0, 10))
		c, _ := startIntake(t, r, IntakeConfig{}, true)
		until(t, "all are acknowledged", func() bool { return c.in.Stats().Acked == 11 })
		c.once(t, 10)
		bad := entriesOf(t, r, keyBad)
		if len(bad) != 1 {
			t.Fatalf("%v set aside", bad)
		}
		got := bad[0].FieldValues
		if got["kind"] != fieldVersion || got["reason"] != `malformed entry: v is "3"; expected 1, 2` || got["stream"] != keyUplinks+"3" {
			t.Errorf("set aside as %v", got)
		}
		for i := 0; i < len(entry); i += 2 {
			if got[entry[i]] != entry[i+1] {
				t.Errorf("%s is %q, want %q", entry[i], got[entry[i]], entry[i+1])
			}
		}
	})
}

// The example of a gateway's bridge writes what routers read, without any package.
func TestBridge(t *testing.T) {
	t.Parallel()
	python := testenv.Program(t, "python3")
	server := redistest.Start(t)
	u, err := url.Parse(server.TCP())
	if err != nil {
		t.Fatal(err)
	}
	var hex strings.Builder
	const n = 20
	for i, frame := range frames(0, n) {
		if i%2 == 1 { // a join request
			frame.PHY = make([]byte, 23)
			frame.PHY[1], frame.PHY[9] = byte(i), byte(i)
		}
		fmt.Fprintf(&hex, "%x\n", frame.PHY)
	}
	bridge := func(stdin string) (string, error) {
		cmd := exec.CommandContext(t.Context(), python, "../../../examples/gateway/bridge.py", u.Hostname(), u.Port(), "0102030405060708")
		cmd.Stdin = strings.NewReader(stdin)
		output, err := cmd.CombinedOutput()
		return string(output), err
	}
	if output, err := bridge(hex.String()); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	r := openURL(t, server.URL())
	c, _ := startIntake(t, r, IntakeConfig{}, true)
	until(t, "all are acknowledged", func() bool { return c.in.Stats().Acked == n })
	c.once(t, n)
	if st := c.in.Stats(); len(st.Malformed) > 0 || st.Moved > 0 {
		t.Errorf("malformed: %v; %d in a wrong partition", slices.Sorted(maps.Keys(st.Malformed)), st.Moved)
	}
	must(t, r, "SET", keyPartitions, "many")
	if output, err := bridge(hex.String()); err == nil {
		t.Errorf("it writes to %q partitions: %s", "many", output)
	}
}
