package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"contend/internal/secret"
	"contend/load"
	"contend/protocol"
	"contend/protocol/script"
	"contend/protocol/wire"
	"contend/setting"
)

// The part of the load of a script's options that a command takes: all of it, what blocks of a
// comparison can have, or nothing.
type scriptPart []string

var (
	wholeScript  = scriptPart{"concurrency", "rate", "duration", "iterations", "grace"}
	steadyScript = scriptPart{"concurrency", "rate"}
	bareScript   = scriptPart{}
)

// Flags that describe one load: those that put a script's scenarios and stages aside, and the number of callers,
// which changes them.
var (
	ofWholeLoad = []string{"duration", "iterations", "rate", "stages"}
	ofOneLoad   = append([]string{"concurrency"}, ofWholeLoad...)
)

// severalScenarios is the mistake of asking several scenarios for what one load has.
func severalScenarios(o *script.Options) error {
	var c script.Config
	return setting.At(&c, &c.Scenario).Wrong("is not given, and the script has the scenarios %s: contend run alone drives several, and as they are, or with --%s the default function instead; "+
		"else --scenario chooses one", strings.Join(o.Names(), ", "), strings.Join(ofWholeLoad, ", --"))
}

// scriptLoad adds what the options of a target's script say about the load, as far as the command accepts
// it; flags override it. It returns the script, which the caller closes; nil: the target has no script.
func (a *app) scriptLoad(ctx context.Context, spec *targetFlags, given setting.Values, part scriptPart) (*script.Target, error) {
	if spec.target().Get("script") == "" {
		return nil, nil
	}
	if given["timeout"].Texts == nil {
		given["timeout"] = setting.Value{Texts: []string{"0s"}} // requests have their own
	}
	read, err := a.readScript(ctx, spec.target())
	if err != nil {
		return nil, err
	}
	has := func(flags ...string) bool {
		return slices.ContainsFunc(flags, func(flag string) bool { return given[flag].Texts != nil })
	}
	whole := len(part) == len(wholeScript)
	if names := read.Options.Names(); names != nil && whole && has(ofWholeLoad...) && spec.given["scenario"].Texts == nil {
		protocol.Close(read)
		spec.given["scenario"] = setting.Value{Texts: []string{script.DefaultScenario}}
		if read, err = a.readScript(ctx, spec.target()); err != nil {
			return nil, err
		}
		fmt.Fprintf(a.Err, "contend: flags replace the scenarios of the script (%s); use --scenario to run one of them\n", strings.Join(names, ", "))
	}
	for _, warning := range read.Warnings() {
		fmt.Fprintf(a.Err, "contend: %s\n", warning)
	}
	options := &read.Options
	if len(options.Scenarios) > 1 && (!whole || has("concurrency")) {
		protocol.Close(read)
		return nil, severalScenarios(options)
	}
	vus, _ := strconv.Atoi(strings.Join(given["concurrency"].Texts, "")) // a mistake is reported with the others
	if vus > 0 && whole && options.Ramps() && !has(ofWholeLoad...) {
		if err := options.RampFrom(vus); err != nil {
			protocol.Close(read)
			return nil, err
		}
		given["concurrency"] = setting.Value{Texts: []string{strconv.Itoa(options.VUs)}}
	} else if has(ofOneLoad...) {
		options.Flatten()
	}
	if ownLoad(options, has, given, part) {
		fmt.Fprintln(a.Err, "contend: options.vus says nothing without duration, iterations or stages, as in k6: one iteration; -c with -d or -n drives more")
	}
	return read, nil
}

// ownLoad gives the flags of a load that are not given what the script's options say. As in k6, a script has one caller
// unless it says otherwise, and without any load one iteration; alone reports that its vus say nothing then.
func ownLoad(options *script.Options, has func(flags ...string) bool, given setting.Values, part scriptPart) (alone bool) {
	own := map[string]string{}
	shortcuts := len(part) == len(wholeScript) && len(options.Scenarios) == 0 && !options.Ramps()
	if !has("duration", "iterations", "stages") {
		own["duration"], own["iterations"] = setting.Duration(options.Duration), strconv.FormatInt(options.Iterations, 10)
	}
	if !has("rate", "stages") {
		own["rate"] = options.Rate
		own["concurrency"] = strconv.Itoa(options.VUs)
	}
	if some := options.Duration > 0 || options.Iterations > 0; shortcuts && some && !has("rate", "stages") {
		own["concurrency"] = strconv.Itoa(max(1, options.VUs))
	} else if shortcuts && !some && !has(ofOneLoad...) {
		own["concurrency"], own["iterations"], alone = "1", "1", options.VUs > 0
	}
	for flag, text := range own {
		if slices.Contains([]string{"", "0", "0s"}, text) { // it is not said
			delete(own, flag)
		}
	}
	own["grace"] = setting.Duration(options.Grace)
	for flag, text := range own {
		if !has(flag) && slices.Contains(part, flag) {
			given[flag] = setting.Value{Texts: []string{text}}
		}
	}
	return alone
}

// scriptOptions is scriptLoad for those that want nothing else of the script.
func (a *app) scriptOptions(ctx context.Context, spec *targetFlags, given setting.Values, part scriptPart) error {
	read, err := a.scriptLoad(ctx, spec, given, part)
	if read != nil {
		protocol.Close(read)
	}
	return err
}

// readScript reads a target's script, with its options.
func (a *app) readScript(ctx context.Context, target protocol.Target) (*script.Target, error) {
	bare := protocol.Target{}
	for _, name := range []string{"script", "script_root", "script_env", "scenario", "jslib", "secret_source"} {
		if value, ok := target[name]; ok {
			bare[name] = value
		}
	}
	if !strings.Contains(target.URL(), "{{") { // of a server that is not started yet
		bare = bare.With("url", target.URL())
	}
	opener := protocol.Opener{Surroundings: wire.Surroundings{Env: os.LookupEnv, Environ: os.Environ(), Secrets: a.secrets}}
	opened, err := opener.Open(ctx, bare)
	if err != nil {
		return nil, err
	}
	return script.Of(opened), nil
}

// claims returns those of a run: what --expect gives, and the thresholds of its script.
func (r *runSettings) claims() []string {
	all := slices.Clone(r.Expect)
	if r.script != nil {
		for _, t := range r.script.Options.Thresholds {
			all = append(all, t.Claim)
		}
	}
	return all
}

// asScript is the exit code of a run of a script, which is that of k6: only thresholds and claims of the command
// line decide, unless --strict is given. What is INVALID the page says.
func (r *runSettings) asScript(err error) error {
	if exit, ok := errors.AsType[*exitError](err); ok && exit.code == exitUndecided && r.script != nil && !r.Strict && len(r.Expect) == 0 {
		return nil
	}
	return err
}

// summaries writes what the script of a run says about its result, after the page.
func (a *app) summaries(ctx context.Context, r *runSettings, result *load.Result) error {
	if r.script == nil {
		return nil
	}
	var errs []error
	if r.Export != "" {
		content, err := r.script.Export(secret.In(result, a.secrets.Hide))
		errs = append(errs, err, os.WriteFile(r.Export, content, 0o644))
	}
	all, err := r.script.Summary(ctx, result) // which knows the names of its own metrics
	told := []error{err}
	for _, destination := range slices.Sorted(maps.Keys(all)) {
		switch destination {
		case "stdout":
			_, err = a.Out.Write(all[destination])
		case "stderr":
			_, err = bare(a.Err).Write(all[destination])
		default:
			err = os.WriteFile(destination, all[destination], 0o644)
		}
		told = append(told, err)
	}
	if err := errors.Join(told...); err != nil { // which does not decide the exit code, as in k6
		fmt.Fprintf(a.Err, "contend: no summary of the script: %v\n", err)
	}
	return errors.Join(errs...)
}

// withoutScript takes a script that comes before the servers for that of all of them. Everything
// after -- is a command, however it ends, and so are two words that leave no second server.
func (c *compareFlags) withoutScript(cmd *cobra.Command, args []string) []string {
	if len(args) < 2 || cmd.ArgsLenAtDash() == 0 || !protocol.IsScript(args[0]) ||
		len(args) == 2 && (cmd.Flags().Changed("url") || protocol.IsScript(args[1])) {
		return args
	}
	c.spec.given["script"] = setting.Value{Texts: args[:1]}
	return args[1:]
}
