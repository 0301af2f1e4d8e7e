package script

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/grafana/sobek"

	"contend/setting"
)

// A bundle is a script with all that it imports, as one program: a function of
// (exports, module, modules).
type bundle struct {
	program *sobek.Program
	hash    string   // of its text, SHA-256 in hexadecimal
	text    string   // without the source map
	bounds  []bound  // of what it may call
	roots   []string // the folders whose files it may read, without symbolic links
	library string   // the folder of remote imports; "": none
	dir     string   // of the script itself
	name    string   // its own
}

// The wrapping turns the bundle into a function, so that each virtual user has its own
// modules and nothing is global.
const (
	wrapBegin = "(function(" + exportsName + ", " + moduleName + ", " + nativeModules + "){"
	wrapEnd   = "})"
	// The names under which the wrapping hands things over; no script has them.
	exportsName = "__exports"
	moduleName  = "__module"
	// nativeModules is what bundled code finds the modules of this package in.
	nativeModules = "__native"
	native        = "native" // the namespace of those in esbuild
)

// readBundle bundles the script at path; root is the folder whose files it may read, "" for its own, and
// library that of remote imports.
func readBundle(path, root, library string) (*bundle, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := regular(absolute); err != nil {
		return nil, setting.CannotRead(path, err)
	}
	if absolute, err = filepath.EvalSymlinks(absolute); err != nil {
		return nil, setting.CannotRead(path, err)
	}
	b := &bundle{dir: filepath.Dir(absolute), name: filepath.Base(absolute)}
	for _, folder := range []string{cmp.Or(root, b.dir), library} {
		if folder == "" {
			continue
		}
		real, err := filepath.Abs(folder)
		if err == nil {
			real, err = filepath.EvalSymlinks(real)
		}
		if err != nil {
			return nil, setting.CannotRead(folder, err)
		}
		if b.roots = append(b.roots, real); folder == library {
			b.library = real
		}
	}
	built := api.Build(api.BuildOptions{
		EntryPoints:   []string{absolute},
		AbsWorkingDir: b.dir,
		Bundle:        true,
		Format:        api.FormatESModule, // the other forms begin with helpers that each runtime would pay for
		Platform:      api.PlatformNeutral,
		MainFields:    []string{"module", "main"},
		Target:        api.ES2022,
		Supported:     map[string]bool{"async-generator": false, "for-await": false, "top-level-await": false, "import-meta": false},
		Sourcemap:     api.SourceMapInline,
		Charset:       api.CharsetUTF8,
		Banner:        map[string]string{"js": wrapBegin},
		Footer:        map[string]string{"js": wrapEnd},
		TsconfigRaw:   "{}",
		LogLevel:      api.LogLevelSilent,
		LogLimit:      20,
		Plugins:       []api.Plugin{{Name: "contend", Setup: b.plug}},
	})
	if len(built.Errors) > 0 {
		return nil, messages(built.Errors)
	}
	return b, b.compile(filepath.Base(path), exported(string(built.OutputFiles[0].Contents)))
}

// exported has a module, whose last statement says what it exports, assign that to the object of the wrapping.
func exported(text string) string {
	const whole, names = "\nexport default ", "\nexport {"
	at := strings.LastIndex(text, names)
	if i := strings.LastIndex(text, whole); i > at { // of a file in the form of CommonJS
		return text[:i] + "\n" + moduleName + ".exports = " + text[i+len(whole):]
	}
	if at < 0 {
		return text
	}
	list, after, _ := strings.Cut(text[at+len(names):], "\n};")
	var b strings.Builder
	for one := range strings.SplitSeq(list, ",\n") {
		local, name, renamed := strings.Cut(strings.TrimSpace(one), " as ")
		if !renamed {
			name = local
		}
		if !strings.HasPrefix(name, `"`) {
			name = strconv.Quote(name)
		}
		fmt.Fprintf(&b, "\n%s[%s] = %s;", exportsName, name, local)
	}
	return text[:at] + b.String() + after
}

// compile keeps the text and its program.
func (b *bundle) compile(name, text string) (err error) {
	sum := sha256.Sum256([]byte(text))
	b.hash = hex.EncodeToString(sum[:])
	b.text, _, _ = strings.Cut(text, "//# sourceMappingURL=")
	b.bounds = boundsOf(b.text)
	if b.program, err = sobek.Compile(name, text, true); err == nil {
		return nil
	}
	var without error // the map of an empty script is empty, which is taken for a mistake
	if b.program, without = sobek.Compile(name, b.text, true); without == nil {
		return nil
	}
	return err
}

// messages are the mistakes that the bundler found, each with its line.
func messages(all []api.Message) error {
	var errs []error
	for _, m := range all {
		where := ""
		if m.Location != nil {
			where = fmt.Sprintf("%s:%d:%d: ", m.Location.File, m.Location.Line, m.Location.Column+1)
		}
		errs = append(errs, errors.New(where+m.Text))
	}
	return errors.Join(errs...)
}

// plug decides what imports mean: modules of this package, files within the root, or a mistake.
func (b *bundle) plug(build api.PluginBuild) {
	build.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
		if args.Kind == api.ResolveEntryPoint {
			return api.OnResolveResult{}, nil
		}
		return b.resolve(args.Path, args.ResolveDir)
	})
	build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: "file"}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
		if args.Path == filepath.Join(b.dir, b.name) {
			return api.OnLoadResult{}, nil
		}
		return api.OnLoadResult{}, errors.Join(b.within(args.Path), regular(args.Path)) // esbuild reads it, and has found its ending by now
	})
	build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: native}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
		text := moduleText(args.Path)
		return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, nil
	})
}

func (b *bundle) resolve(name, from string) (api.OnResolveResult, error) {
	if _, ok := modules[name]; ok {
		return api.OnResolveResult{Path: name, Namespace: native}, nil
	}
	if why := instead[name]; why != "" {
		return api.OnResolveResult{}, fmt.Errorf("module %q is not there: %s", name, why)
	}
	switch {
	case strings.Contains(name, "://"):
		return b.elsewhere(name)
	case name == "k6" || strings.HasPrefix(name, "k6/"):
		return api.OnResolveResult{}, fmt.Errorf("module %q is not there; those that are: %s", name, strings.Join(moduleNames(), ", "))
	case !strings.HasPrefix(name, ".") && !filepath.IsAbs(name):
		return api.OnResolveResult{}, fmt.Errorf("module %q is not there: packages are not looked up; bundle it into a file and import that", name)
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(from, path)
	}
	if err := b.within(path); err != nil {
		return api.OnResolveResult{}, err
	}
	return api.OnResolveResult{}, nil // as esbuild would
}

// elsewhere finds a remote import by its address in the folder of the library.
func (b *bundle) elsewhere(name string) (found api.OnResolveResult, err error) {
	u, err := url.Parse(name)
	if err != nil || u.Host == "" || u.RawQuery != "" {
		return found, fmt.Errorf("%q is no address of a file", name)
	}
	file := filepath.Join(u.Hostname(), filepath.FromSlash(path.Clean("/"+u.Path)))
	if b.library == "" {
		return found, fmt.Errorf("%q is elsewhere, and nothing is fetched: save it as DIR/%s, and give --jslib DIR", name, filepath.ToSlash(file))
	}
	found.Path = filepath.Join(b.library, file)
	if _, err := os.Stat(found.Path); err != nil {
		return api.OnResolveResult{}, fmt.Errorf("%q is elsewhere, and nothing is fetched: %w", name, setting.CannotRead(found.Path, err))
	}
	return found, b.within(found.Path)
}

// within refuses a file outside of the folders.
func (b *bundle) within(path string) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	for _, root := range b.roots {
		inside, err := filepath.Rel(root, path)
		if err == nil && inside != ".." && !strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
			return nil
		}
	}
	return fmt.Errorf("%s is outside of %s: --script-root DIR allows a folder above", path, b.roots[0])
}

// regular refuses what is no file: a folder, or a pipe, whose end may never come.
func regular(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return errors.New("it is no regular file")
	}
	return err
}

// How a script looks a variable up by its name, and any other word that may be one.
var (
	lookedUp = regexp.MustCompile(`\b__ENV\s*(?:\?\.|\.)\s*([A-Za-z_$][\w$]*)|\b__ENV\s*(?:\?\.)?\s*\[\s*["'` + "`" + `]([^"'` + "`" + `]*)["'` + "`" + `]\s*\]`)
	aWord    = regexp.MustCompile(`[A-Za-z_$][\w$]*`)
)

// reads returns those entries of an environment whose names the script may look up: where it hands
// __ENV on, as in const { HOST } = __ENV, that is all that it has as a word.
func (b *bundle) reads(environ []string) []string {
	names := map[string]bool{}
	for _, m := range lookedUp.FindAllStringSubmatch(b.text, -1) {
		names[m[1]+m[2]] = true
	}
	if strings.Contains(lookedUp.ReplaceAllString(b.text, ""), "__ENV") {
		for _, word := range aWord.FindAllString(b.text, -1) {
			names[word] = true
		}
	}
	var all []string
	for _, entry := range environ {
		if name, _, _ := strings.Cut(entry, "="); names[name] {
			all = append(all, entry)
		}
	}
	return all
}

// lineOf says where a word is in the script after its options begin, as in "flow.js:3: "; "" if it is
// not there.
func (b *bundle) lineOf(word string) string {
	content, err := os.ReadFile(filepath.Join(b.dir, b.name))
	at := regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`).FindIndex(content[max(0, bytes.Index(content, []byte("options"))):])
	if err != nil || at == nil {
		return ""
	}
	before := content[:max(0, bytes.Index(content, []byte("options")))+at[0]]
	return fmt.Sprintf("%s:%d: ", b.name, 1+bytes.Count(before, []byte{'\n'}))
}

// read reads a file that the script opens in a file of its folder.
func (b *bundle) read(path, from string) ([]byte, error) {
	path = strings.TrimPrefix(path, "file://")
	if !filepath.IsAbs(path) {
		path = filepath.Join(b.dir, filepath.Dir(from), path)
	}
	if err := b.within(path); err != nil {
		return nil, err
	}
	if err := regular(path); err != nil {
		return nil, setting.CannotRead(path, err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, setting.CannotRead(path, err)
	}
	return content, nil
}
