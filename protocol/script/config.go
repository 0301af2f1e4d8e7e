package script

import (
	"context"
	"errors"
	"strings"

	"contend/load"
	"contend/protocol/wire"
	"contend/setting"
)

// A Config says which script a virtual user runs, and against what. Script must be set.
type Config struct {
	// URL is what the script finds in __ENV.BASE_URL, of grpc://host:port without the scheme; "": nothing.
	URL string `json:"target" file:"url" flag:"-"`
	// Script is the file, in JavaScript or TypeScript.
	Script string `file:"script" words:"run this *file* of JavaScript or TypeScript in every iteration, as k6 does; __ENV.BASE_URL is the URL"`
	// Root is the folder whose files the script may import and open; "" is that of its project.
	Root string `file:"script_root" words:"*folder* from which the script may import and open files (default: its Git repository, package or the current folder)"`
	// VUMemory is what each of them may take.
	VUMemory int64 `file:"vu_memory" unit:"bytes" default:"64MiB" min:"1MiB" words:"end the run when the script's callers use more *memory* than this each, on average, such as 64MiB"`
	// JSLib is a folder with the script's remote imports.
	JSLib string `file:"jslib" words:"*folder* with the script's remote imports: https://host/path is host/path there"`
	// Scenario is the one that is driven, of several; "": all of them.
	Scenario string `file:"scenario" words:"run only this *scenario* of the script"`
	// Env is what else it finds in __ENV: "NAME=value".
	Env []string `file:"script_env" flag:"script-env,e" list:"repeat" words:"\"*NAME=value*\" for the script's __ENV; repeatable"`
	// Secrets are where k6/secrets has its values from; the first is the default.
	Secrets []string `file:"secret_source" flag:"secret-source" list:"repeat" words:"*source* of k6/secrets: file=PATH with lines KEY=VALUE, or mock=KEY=VALUE,...; repeatable"`
	// Origin is the origin in the script's URLs in whose place URL's is asked.
	Origin string `file:"script_origin" flag:"origin" words:"replace this *origin* in the script's URLs with the URL's, such as http://localhost:8080, or localhost:50055 for gRPC"`
	// CAFile and the rest are about TLS.
	CAFile   string `file:"ca_file" words:"*file* with the trusted CA certificates, in PEM form"`
	Insecure bool   `file:"insecure" words:"accept any certificate"`
	CertFile string `file:"cert_file" words:"*file* with the client certificate, in PEM form"`
	KeyFile  string `file:"key_file" words:"*file* with its key, in PEM form"`
	wire.Engines
}

// Validate returns every mistake that can be seen without opening a file.
func (c *Config) Validate() error {
	var errs []error
	for i, text := range c.Env {
		if name, _, found := strings.Cut(text, "="); !found || name == "" {
			m := setting.At(c, &c.Env).OutOf(text, "NAME=value")
			m.Index = i
			errs = append(errs, m)
		}
	}
	if c.Origin != "" {
		switch _, err := originOf(c.Origin); {
		case err != nil:
			errs = append(errs, setting.At(c, &c.Origin).OutOf(c.Origin, "an origin, as in http://localhost:8080, or host:port of gRPC"))
		case c.URL == "":
			errs = append(errs, setting.At(c, &c.Origin).Wrong("is %q, but there is no URL that is asked in its place", c.Origin))
		}
	}
	common := c.common()
	return errors.Join(append(errs, common.Check(nil))...)
}

// common are the settings that other protocols share.
func (c *Config) common() wire.Common {
	return wire.Common{CAFile: c.CAFile, Insecure: c.Insecure, CertFile: c.CertFile, KeyFile: c.KeyFile}
}

// env returns __ENV: what is given, before the URL, before what the environment has.
func (c *Config) env(environ []string) map[string]string {
	all := map[string]string{}
	for _, text := range environ {
		name, value, _ := strings.Cut(text, "=")
		all[name] = value
	}
	if c.URL != "" {
		all["BASE_URL"] = baseURL(c.URL)
	}
	for _, text := range c.Env {
		name, value, _ := strings.Cut(text, "=")
		all[name] = value
	}
	return all
}

// Elsewhere returns what the script finds in __ENV in another process: what is given, and those
// variables of the environment here that the script reads. It may hold secrets.
func (c *Config) Elsewhere(environ []string) ([]string, error) {
	b, err := readBundle(c.Script, c.Root, c.JSLib)
	if err != nil {
		return nil, setting.At(c, &c.Script).About(err)
	}
	var all []string
	for _, entry := range b.reads(environ) {
		if name, _, _ := strings.Cut(entry, "="); name != "BASE_URL" || c.URL == "" {
			all = append(all, entry)
		}
	}
	return append(all, c.Env...), nil // the last of a name counts
}

// Open reads the script, runs its outermost part once, and returns what drives it. It connects to
// nothing. The error has every mistake that was found.
func Open(ctx context.Context, c Config, around wire.Surroundings) (load.Target, error) {
	t, err := New(ctx, c, around)
	if err != nil {
		return nil, err // and no pointer that looks like a target
	}
	if len(t.Options.Scenarios) < 2 {
		return t, nil
	}
	several, err := t.several()
	if err != nil {
		return nil, err
	}
	return several, nil
}
