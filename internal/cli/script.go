package cli

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"

	"contend/protocol"
	"contend/protocol/script"
	"contend/protocol/wire"
	"contend/setting"
)

// scriptLoad puts what the options of a target's script say about the load under what a command line
// gives, of which kinds of figures only allowed. Without a script it does nothing.
func (a *app) scriptLoad(ctx context.Context, target protocol.Target, given setting.Values, allowed ...string) error {
	if target.Get("script") == "" {
		return nil
	}
	if given["timeout"].Texts == nil {
		given["timeout"] = setting.Value{Texts: []string{"0s"}} // requests have their own
	}
	options, err := scriptOptions(ctx, target)
	if err != nil {
		return err
	}
	has := func(flags ...string) bool {
		return slices.ContainsFunc(flags, func(flag string) bool { return given[flag].Texts != nil })
	}
	own := map[string]string{}
	if !has("duration", "iterations", "stages") {
		own["duration"], own["iterations"] = setting.Duration(options.Duration), strconv.FormatInt(options.Iterations, 10)
	}
	if !has("rate", "stages") {
		own["rate"] = options.Rate
		own["concurrency"] = strconv.Itoa(options.VUs)
	}
	own["grace"] = setting.Duration(options.Grace)
	for flag, text := range own {
		if !has(flag) && slices.Contains(allowed, flag) && !slices.Contains([]string{"", "0", "0s"}, text) {
			given[flag] = setting.Value{Texts: []string{text}}
		}
	}
	return nil
}

// scriptOptions reads the options of a target's script.
func scriptOptions(ctx context.Context, target protocol.Target) (*script.Options, error) {
	bare := protocol.Target{}
	for _, name := range []string{"script", "script_root", "script_env"} {
		if value, ok := target[name]; ok {
			bare[name] = value
		}
	}
	if !strings.Contains(target.URL(), "{{") { // of a server that is not started yet
		bare = bare.With("url", target.URL())
	}
	opener := protocol.Opener{Surroundings: wire.Surroundings{Env: os.LookupEnv}}
	opened, err := opener.Open(ctx, bare)
	if err != nil {
		return nil, err
	}
	defer closeTarget(opened)
	return &opened.(*script.Target).Options, nil
}

// withoutScript takes a script that stands before the servers for that of all of them.
func (c *compareFlags) withoutScript(args []string) []string {
	if len(args) < 2 || !protocol.IsScript(args[0]) {
		return args
	}
	c.spec.given["script"] = setting.Value{Texts: args[:1]}
	return args[1:]
}
