package script

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/grafana/sobek"

	"contend/internal/lazyregexp"
	"contend/setting"
)

// A bundle is a script with all that it imports, as one program: a function of
// (exports, module, modules).
type bundle struct {
	program  *sobek.Program
	hash     string              // of its text, SHA-256 in hexadecimal
	text     string              // without the source map
	bounds   []bound             // of what it may call
	dir      string              // of the script itself
	name     string              // its own
	missing  map[string][]string // names by the module of this package that has no such export
	warnings []string            // what the user is told before it runs
	roots
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
	// resolveName is import.meta.resolve of all files.
	resolveName = "__resolve"
)

// readBundle bundles the script at path; root is the folder whose files it may read, "" for the project's, and
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
	if err := b.readRoots(b.dir, root, library); err != nil {
		return nil, err
	}
	built := b.build(absolute)
	if b.miss(built.Errors) {
		built = b.build(absolute)
	}
	if len(built.Errors) > 0 {
		return nil, messages(built.Errors)
	}
	return b, b.compile(filepath.Base(path), exported(string(built.OutputFiles[0].Contents)))
}

// build bundles the file.
func (b *bundle) build(absolute string) api.BuildResult {
	return api.Build(api.BuildOptions{
		EntryPoints:   []string{absolute},
		AbsWorkingDir: b.dir,
		Bundle:        true,
		Format:        api.FormatESModule, // the other forms begin with helpers that each runtime would pay for
		Platform:      api.PlatformNeutral,
		MainFields:    []string{"module", "main"},
		Target:        api.ES2022,
		Supported:     map[string]bool{"async-generator": false, "for-await": false, "import-meta": false},
		Define:        map[string]string{"import.meta.resolve": resolveName},
		Sourcemap:     api.SourceMapInline,
		Charset:       api.CharsetUTF8,
		Banner:        map[string]string{"js": wrapBegin},
		Footer:        map[string]string{"js": wrapEnd},
		TsconfigRaw:   "{}",
		LogLevel:      api.LogLevelSilent,
		LogLimit:      20,
		Plugins:       []api.Plugin{{Name: "contend", Setup: b.plug}},
	})
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
	// Where the outermost part awaits, that is a mistake in a plain function; and the map of an empty script is
	// empty, which is taken for one.
	for _, other := range []string{"(async " + strings.TrimPrefix(text, "("), b.text} {
		var without error
		if b.program, without = sobek.Compile(name, other, true); without == nil {
			return nil
		}
	}
	return err
}

// messages are the mistakes that the bundler found, each with its line.
func messages(all []api.Message) error {
	var errs []error
	for _, m := range all {
		errs = append(errs, errors.New(inFile(m)+m.Text))
	}
	return errors.Join(errs...)
}

// inFile says where a message is about, as in "flow.js:3:7: ".
func inFile(m api.Message) string {
	if m.Location == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d: ", m.Location.File, m.Location.Line, m.Location.Column+1)
}

// asEsbuild marks imports of files that esbuild is to find by itself.
var asEsbuild = new(struct{ byItself bool })

// noExport is how esbuild says that a module has no export of a name.
var noExport = lazyregexp.New(`^No matching export in "` + native + `:([^"]+)" for import "([A-Za-z_$][\w$]*)"$`)

// miss notes the names that modules of this package do not have: they are undefined, as in k6. It reports whether
// all mistakes are such.
func (b *bundle) miss(all []api.Message) bool {
	b.missing = map[string][]string{}
	for _, m := range all {
		parts := noExport().FindStringSubmatch(m.Text)
		if parts == nil {
			return false
		}
		if module, name := parts[1], parts[2]; !slices.Contains(b.missing[module], name) {
			b.missing[module] = append(b.missing[module], name)
			b.warnings = append(b.warnings, fmt.Sprintf("%s%s has no %s, which is undefined%s", inFile(m), module, name, meant(name, moduleExports()[module])))
		}
	}
	return len(all) > 0
}

// plug decides what imports mean: modules of this package, files within the root, or a mistake.
func (b *bundle) plug(build api.PluginBuild) {
	build.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
		switch {
		case args.Kind == api.ResolveEntryPoint: // without what a package.json says: imports show what form a file has
			return api.OnResolveResult{Path: args.Path}, nil
		case args.PluginData == asEsbuild:
			return api.OnResolveResult{}, nil
		}
		found, err := b.resolve(args.Path, args.ResolveDir)
		if err != nil || found.Path != "" {
			return found, err
		}
		file := build.Resolve(args.Path, api.ResolveOptions{ResolveDir: args.ResolveDir, Kind: args.Kind, PluginData: asEsbuild})
		return api.OnResolveResult{Path: file.Path, Errors: file.Errors}, nil
	})
	build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: "file"}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
		if args.Path != filepath.Join(b.dir, b.name) {
			if err := errors.Join(b.may(args.Path), regular(args.Path)); err != nil {
				return api.OnLoadResult{}, err
			}
		}
		b.note(args.Path)
		return api.OnLoadResult{}, nil // esbuild reads it, and has found its ending by now
	})
	build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: native}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
		text := moduleText(args.Path, b.missing[args.Path])
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
	case strings.HasSuffix(name, "/browser") && strings.HasPrefix(name, "k6/"):
		return api.OnResolveResult{}, fmt.Errorf("module %q drives a browser, which contend does not: keep its functions and scenarios in a script for k6, or write the requests of their pages with k6/http", name)
	case name == "k6" || strings.HasPrefix(name, "k6/"):
		return api.OnResolveResult{}, fmt.Errorf("module %q is not there; those that are: %s", name, strings.Join(moduleNames(), ", "))
	case !strings.HasPrefix(name, ".") && !filepath.IsAbs(name):
		return api.OnResolveResult{}, fmt.Errorf("module %q is not there: packages are not looked up; bundle it into a file and import that", name)
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(from, path)
	}
	if strings.HasPrefix(name, ".") {
		b.reach(path)
	}
	return api.OnResolveResult{}, b.may(path) // as esbuild would
}

// elsewhere finds a remote import by its address in the folder of the library.
func (b *bundle) elsewhere(name string) (found api.OnResolveResult, err error) {
	u, err := url.Parse(name)
	if err != nil || u.Host == "" || u.RawQuery != "" {
		return found, fmt.Errorf("%q is no address of a file", name)
	}
	file := filepath.Join(u.Hostname(), filepath.FromSlash(path.Clean("/"+u.Path)))
	if b.library == "" {
		return found, fmt.Errorf("%q is elsewhere, and nothing is fetched: curl -fL --create-dirs -o %s %s, then --jslib lib", name, filepath.ToSlash(filepath.Join("lib", file)), name)
	}
	found.Path = filepath.Join(b.library, file)
	if _, err := os.Stat(found.Path); err != nil {
		return api.OnResolveResult{}, fmt.Errorf("%q is elsewhere, and nothing is fetched: %w: curl -fL --create-dirs -o %s %s", name, setting.CannotRead(found.Path, err), filepath.ToSlash(found.Path), name)
	}
	return found, b.may(found.Path)
}

// How a script looks a variable up by its name, and any other word that may be one.
var (
	lookedUp = lazyregexp.New(`\b__ENV\s*(?:\?\.|\.)\s*([A-Za-z_$][\w$]*)|\b__ENV\s*(?:\?\.)?\s*\[\s*["'` + "`" + `]([^"'` + "`" + `]*)["'` + "`" + `]\s*\]`)
	aWord    = lazyregexp.New(`[A-Za-z_$][\w$]*`)
)

// reads returns those entries of an environment whose names the script may look up: where it hands
// __ENV on, as in const { HOST } = __ENV, that is all that it has as a word.
func (b *bundle) reads(environ []string) []string {
	names := map[string]bool{}
	for _, m := range lookedUp().FindAllStringSubmatch(b.text, -1) {
		names[m[1]+m[2]] = true
	}
	if strings.Contains(lookedUp().ReplaceAllString(b.text, ""), "__ENV") {
		for _, word := range aWord().FindAllString(b.text, -1) {
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
