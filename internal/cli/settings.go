package cli

import (
	"github.com/spf13/cobra"

	"contend/setting"
)

// settingFlags adds a flag for each of the settings and returns what the command
// line gives, once it is parsed.
func settingFlags(cmd *cobra.Command, list []setting.Setting) setting.Values {
	given := setting.Values{}
	for _, f := range setting.Flags(list, given) {
		add := func(name, short string) {
			flag := cmd.Flags().VarPF(f, name, short, f.Usage())
			if f.Bool() {
				flag.NoOptDefVal = "true"
			}
			flag.Hidden = name == f.Alias
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
