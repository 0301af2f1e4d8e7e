package abtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const ownTest = `package own

import (
	"testing"

	"contend/abtest"
)

func TestEqual(t *testing.T) {
	spin := func(n int) {
		for i := 0; i < 1000*n; i++ {
		}
	}
	abtest.Run(t, abtest.Config{Rounds: 2, Pairs: 1, Block: 1e6}, abtest.Func{Name: "a", Do: spin}, abtest.Func{Name: "b", Do: spin})
}
`

// What the README says to type makes the package usable in another module: this one has
// no public host.
func TestInAnotherModule(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	edit := regexp.MustCompile("`(go mod edit [^`]*)`").FindStringSubmatch(string(readme))
	if edit == nil {
		t.Fatal("README.md does not say how")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "own_test.go"), []byte(ownTest), 0o644); err != nil {
		t.Fatal(err)
	}
	known, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache, proxy, _ := strings.Cut(strings.TrimSpace(string(known)), "\n")
	// What was fetched before is not fetched again. Tests of what contend imports need more than it does itself.
	proxy = "file://" + filepath.ToSlash(filepath.Join(cache, "cache", "download")) + "," + proxy
	for _, command := range []string{"go mod init own", strings.ReplaceAll(edit[1], "../contend", here), "go mod tidy", "go test -vet=off -ldflags=-w"} {
		words := strings.Fields(command)
		cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOPROXY="+proxy, "GOSUMDB=off", "GOFLAGS=-mod=mod", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
}
