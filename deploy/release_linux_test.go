package deploy_test

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	_ "github.com/goreleaser/nfpm/v2/rpm"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdxlib"
	"sigs.k8s.io/yaml"

	"contend/internal/testenv"
)

// madeFor are the variables that the Makefile sets.
var madeFor = map[string]string{"SOURCE_DATE_EPOCH": "1700000000", "MADE": "2023-11-14T22:13:20Z", "REPOSITORY": "example.org/nobody/contend", "OWNER": "nobody"}

// releaseTool is what makes a part of a release, with those variables.
var releaseTool = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "release")
	cmd := exec.Command("go", "build", "-trimpath", "-tags=grpcnotrace", "-ldflags=-s -w", "-o", path, "./release")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", &exec.Error{Name: string(out), Err: err}
	}
	return path, nil
})

func runRelease(t *testing.T, args ...string) {
	t.Helper()
	tool, err := releaseTool()
	testenv.Must(t, err)
	cmd := exec.CommandContext(t.Context(), tool, args...)
	cmd.Dir, cmd.Env = root, os.Environ()
	for name, value := range madeFor {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("release %q: %v\n%s", args, err, out)
	}
}

// packages are the packages that goreleaser.yaml describes, in each format, with the program of the image.
func packages(t *testing.T) map[string]string {
	t.Helper()
	holds := t.TempDir()
	runRelease(t, "manual", holds)
	text := readFile(t, "release/goreleaser.yaml")
	for name, value := range madeFor {
		text = strings.ReplaceAll(text, "{{ .Env."+name+" }}", value)
	}
	var file struct {
		NFPMs         []map[string]any
		HomebrewCasks []struct{ Manpages []string } `json:"homebrew_casks"`
	}
	testenv.Must(t, yaml.Unmarshal([]byte(strings.ReplaceAll(text, "{{ .Env.HOLDS }}", holds)), &file))
	if len(file.NFPMs) != 1 || len(file.HomebrewCasks) != 1 {
		t.Fatalf("%d kinds of packages and %d casks, want 1 of each", len(file.NFPMs), len(file.HomebrewCasks))
	}
	pages, err := filepath.Glob(filepath.Join(holds, "man/*"))
	for i := range pages {
		pages[i] = "man/" + filepath.Base(pages[i])
	}
	if listed := file.HomebrewCasks[0].Manpages; err != nil || !slices.Equal(listed, pages) {
		t.Errorf("the cask has the pages %q, want %q", listed, pages)
	}
	described := file.NFPMs[0]
	formats := described["formats"].([]any)
	for _, own := range []string{"formats", "file_name_template"} { // of goreleaser
		delete(described, own)
	}
	contents := append(described["contents"].([]any), map[string]any{"src": contend(t), "dst": "/usr/bin/contend", "file_info": map[string]any{"mode": 0o755}})
	described["contents"], described["name"], described["version"], described["arch"] = contents, "contend", "v1.2.3", runtime.GOARCH
	asYAML, err := yaml.Marshal(described)
	testenv.Must(t, err)
	t.Chdir(root)
	config, err := nfpm.Parse(bytes.NewReader(asYAML))
	testenv.Must(t, err)
	made := map[string]string{}
	for _, format := range formats {
		name := format.(string)
		info, err := config.Get(name)
		testenv.Must(t, err)
		packager, err := nfpm.Get(name)
		testenv.Must(t, err)
		var content bytes.Buffer
		testenv.Must(t, packager.Package(nfpm.WithDefaults(info), &content))
		made[name] = testenv.Write(t, filepath.Join(t.TempDir(), "contend."+name), content.Bytes())
	}
	return made
}

// inside runs a program in a root of its own, with what an image gets when it runs: /dev and /proc.
func inside(t *testing.T, folder string, args ...string) (output string, code int) {
	t.Helper()
	for _, name := range []string{"dev", "proc", "tmp"} {
		testenv.Must(t, os.MkdirAll(filepath.Join(folder, name), 0o755))
	}
	unshare := []string{"--mount", "--pid", "--fork"}
	if out, err := exec.CommandContext(t.Context(), testenv.Program(t, "unshare"), append(unshare, "true")...).CombinedOutput(); err != nil {
		testenv.Missing(t, fmt.Errorf("mounts that nobody else sees: %w: %s", err, out))
	}
	const mounted = `mount --bind /dev "$0/dev"; mount -t proc proc "$0/proc"; exec chroot "$0" "$@"`
	cmd := exec.CommandContext(t.Context(), "unshare", slices.Concat(unshare, []string{"sh", "-ec", mounted, folder}, args)...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// The package needs nothing of the system that it is unpacked on: the program compares two examples there.
func TestPackageInAnEmptyRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("changing the root needs root")
	}
	unpack := testenv.Program(t, "dpkg-deb")
	made := packages(t)
	if len(made) != 2 {
		t.Errorf("packages %v, want deb and rpm", made)
	}
	folder := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), unpack, "-x", made["deb"], folder).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"man/man1/contend.1", "man/man1/contend-compare.1", "bash-completion/completions/contend", "doc/contend/copyright"} {
		if readFile(t, folder, "usr/share", name) == "" {
			t.Errorf("%s is empty", name)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", filepath.Join(folder, "server"), "./examples/server")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, code := inside(t, folder, "/usr/bin/contend", "version"); code != 0 || !strings.HasPrefix(out, "contend ") {
		t.Errorf("version exits with %d:\n%s", code, out)
	}
	out, code := inside(t, folder, "/usr/bin/contend", "compare", "--block", "100ms", "--rounds", "6", "--pairs", "1", "--warmup", "0s", "-o", "/tmp/answer.json",
		"--url", "http://{{addr}}/", "--", "/server -listen {{addr}}", "/server -sums 40 -listen {{addr}}")
	if !slices.Contains([]int{0, 3, 4}, code) { // whatever verdict this machine allows
		t.Errorf("compare exits with %d:\n%s", code, out)
	}
	var answer struct{ Comparisons []json.RawMessage }
	if err := json.Unmarshal(testenv.Read(t, filepath.Join(folder, "tmp/answer.json")), &answer); err != nil || len(answer.Comparisons) == 0 {
		t.Errorf("the result has %d comparisons, %v", len(answer.Comparisons), err)
	}
}

// unpackedImage is the image of a release, made twice, and a folder with what is in it.
func unpackedImage(t *testing.T) (config v1.Config, folder string) {
	t.Helper()
	var digests []v1.Hash
	var image v1.Image
	for range 2 {
		written := filepath.Join(t.TempDir(), "image")
		runRelease(t, "image", written, contend(t))
		top, err := layout.ImageIndexFromPath(written)
		testenv.Must(t, err)
		index, digest := only(t, top)
		platforms, err := top.ImageIndex(digest)
		testenv.Must(t, err)
		platform, digest := only(t, platforms)
		if index.MediaType != types.OCIImageIndex || platform.Platform.String() != "linux/"+runtime.GOARCH {
			t.Errorf("the layout has a %s with an image for %s", index.MediaType, platform.Platform)
		}
		image, err = platforms.Image(digest)
		testenv.Must(t, err)
		digests = append(digests, index.Digest)
	}
	if digests[0] != digests[1] {
		t.Errorf("images of the same program have the digests %v", digests)
	}
	described, err := image.ConfigFile()
	testenv.Must(t, errors.Join(err, validate.Image(image)))
	folder = t.TempDir()
	files := mutate.Extract(image)
	defer files.Close()
	unpack := exec.CommandContext(t.Context(), testenv.Program(t, "tar"), "-x", "-p", "-C", folder)
	unpack.Stdin = files
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	reachable(t, folder)
	return described.Config, folder
}

// only is the one entry of an index.
func only(t *testing.T, index v1.ImageIndex) (v1.Descriptor, v1.Hash) {
	t.Helper()
	manifest, err := index.IndexManifest()
	testenv.Must(t, err)
	if len(manifest.Manifests) != 1 {
		t.Fatalf("%d entries, want 1", len(manifest.Manifests))
	}
	return manifest.Manifests[0], manifest.Manifests[0].Digest
}

// The list of what is in a program is valid SPDX, and names all that Go says of it.
func TestReleasedSBOM(t *testing.T) {
	file := filepath.Join(t.TempDir(), "contend.spdx.json")
	runRelease(t, "sbom", contend(t), file)
	doc, err := spdxjson.Read(bytes.NewReader(testenv.Read(t, file)))
	testenv.Must(t, err)
	testenv.Must(t, spdxlib.ValidateDocument(doc))
	info, err := buildinfo.ReadFile(contend(t))
	testenv.Must(t, err)
	if got, want := len(doc.Packages), len(info.Deps)+2; got != want { // the program and the standard library
		t.Errorf("%d packages, want %d", got, want)
	}
	for _, wanted := range []string{madeFor["REPOSITORY"], "github.com/spf13/cobra", "stdlib"} {
		if !slices.ContainsFunc(doc.Packages, func(p *spdx.Package) bool { return p.PackageName == wanted && p.PackageVersion != "" }) {
			t.Errorf("%s is not in it, or has no version", wanted)
		}
	}
	if want := madeFor["MADE"]; doc.CreationInfo.Created != want {
		t.Errorf("made at %s, want %s", doc.CreationInfo.Created, want)
	}
}

// The example that Compose runs compares its two servers; here they listen on this machine.
func TestReleasedComposeExample(t *testing.T) {
	project, err := loadCompose("release/compose.yaml")
	testenv.Must(t, err)
	command := slices.Clone(project.Services["compare"].Command)
	for name := range project.Services["compare"].DependsOn {
		cmd := exec.Command(contend(t), anyPort(project.Services[name].Command)...)
		address := start(t, cmd)["http"]
		for i := range command {
			command[i] = strings.ReplaceAll(command[i], name+":8080", address)
		}
	}
	command[slices.Index(command, "30s")] = "2s"
	out, err := exec.CommandContext(t.Context(), contend(t), command...).CombinedOutput()
	if exit := new(exec.ExitError); err != nil && (!errors.As(err, &exit) || exit.ExitCode() < 3) || !strings.Contains(string(out), "/statusV2") {
		t.Errorf("%v\n%s", err, out)
	}
}
