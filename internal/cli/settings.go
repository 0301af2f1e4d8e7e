package cli

import (
	"errors"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"contend/setting"
)

// settingFlags adds a flag for each of the settings and returns what the command
// line gives, once it is parsed. Settings without words are hidden.
func settingFlags(cmd *cobra.Command, list []setting.Setting) setting.Values {
	given := setting.Values{}
	for _, f := range setting.Flags(list, given) {
		add := func(name, short string) {
			flag := cmd.Flags().VarPF(f, name, short, f.Usage())
			if f.Bool() {
				flag.NoOptDefVal = "true"
			}
			flag.Hidden = name == f.Alias || f.Words == ""
			flag.Annotations = map[string][]string{headingKey: {headingOf(f.Setting)}}
			if values := f.Values(); len(values) > 0 && !f.Bool() {
				complete(cmd, name, values)
			}
		}
		add(f.Setting.Flag, f.Short)
		if f.Alias != "" {
			add(f.Alias, f.AliasShort)
		}
	}
	return given
}

// options are structs whose settings are the flags of a command.
type options struct {
	given setting.Values // what the command line gives
	into  []any
}

// optionsOf adds a flag for each setting of the structs that are pointed to.
func optionsOf(cmd *cobra.Command, into ...any) *options {
	return &options{settingFlags(cmd, setting.Of(into...)), into}
}

// read sets the structs to what is given, and returns every mistake in it.
func (o *options) read() error { return fillFlags(o.given, o.into...) }

// has reports whether a flag is given.
func (o *options) has(flag string) bool {
	_, ok := o.given[flag]
	return ok
}

// fillFlags sets the structs to what a command line gives. The error calls
// settings by their flags.
func fillFlags(given setting.Values, into ...any) error {
	var errs []error
	for _, s := range into {
		errs = append(errs, setting.Fill(s, given, setting.InFlags))
	}
	return setting.FlagErrors(errors.Join(errs...))
}

// flagArguments are the flags of another process of this program that is asked for the
// same.
func flagArguments(given setting.Values) []string {
	var list []string
	for _, flag := range slices.Sorted(maps.Keys(given)) {
		for _, text := range given[flag].Texts { // the elements of a list add up
			list = append(list, "--"+flag+"="+text)
		}
	}
	return list
}
