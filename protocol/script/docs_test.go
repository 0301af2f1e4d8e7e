package script

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"contend/internal/testenv"
)

// supported is the table of docs/scripts.md.
func supported() string {
	var b strings.Builder
	row := func(what string, names []string) {
		for _, many := range []string{"HealthCheck", "OCSP", "Status"} { // constants, as k6 has them
			if i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, many) }); i >= 0 {
				names = slices.Insert(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.HasPrefix(name, many) }), i, many+"…")
			}
		}
		fmt.Fprintf(&b, "| %s | `%s` |\n", what, strings.Join(names, "` `"))
	}
	b.WriteString("| what | names |\n| --- | --- |\n")
	all := moduleExports()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		row("`"+name+"`", all[name])
	}
	row("a `Selection` of `k6/html`", slices.Sorted(maps.Keys(selectionMethods)))
	row("an `Element` of `k6/html`", slices.Sorted(maps.Keys(elementMethods)))
	row("options", slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(optionReaders)), ofThresholds))))
	row("options that change nothing here", slices.Sorted(slices.Values(idle)))
	row("executors of scenarios", executorNames())
	row("parameters of an HTTP request", slices.Sorted(maps.Keys(paramReaders)))
	row("parameters of `client.connect`", slices.Sorted(maps.Keys(grpcConnectReaders)))
	row("parameters of `client.invoke` and `grpc.Stream`", slices.Sorted(maps.Keys(grpcCallReaders)))
	row("parameters of `ws.connect` and `WebSocket`", slices.Sorted(maps.Keys(socketReaders)))
	row("of a response", slices.Sorted(maps.Keys(properties)))
	row("without an import", []string{"__ENV", "__ITER", "__VU", "clearInterval", "clearTimeout", "console", "crypto", "global", "open", "require", "setInterval", "setTimeout"})
	return b.String()
}

func TestDocumentedTable(t *testing.T) {
	const path, begin, end = "../../docs/scripts.md", "<!-- table -->\n", "<!-- end of table -->"
	page, err := os.ReadFile(path)
	testenv.Must(t, err)
	before, rest, _ := strings.Cut(string(page), begin)
	table, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatal("docs/scripts.md has no table")
	}
	if table == supported() {
		return
	}
	if !*testenv.Update {
		t.Fatalf("docs/scripts.md lists other names than there are (-update writes them):\n%s", supported())
	}
	testenv.Must(t, os.WriteFile(path, []byte(before+begin+supported()+end+after), 0o644))
}
