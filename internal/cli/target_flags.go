package cli

import (
	"github.com/spf13/cobra"

	"contend/protocol"
	"contend/setting"
)

// targetFlags describe a target. Its URL is an argument, or a flag of its own.
type targetFlags struct {
	url   string
	given setting.Values
}

func (t *targetFlags) flags(cmd *cobra.Command) { t.given = settingFlags(cmd, protocol.Settings()) }

// target is what the flags ask for, without a URL if none is given.
func (t *targetFlags) target() protocol.Target {
	target := protocol.FromFlags(t.given)
	if protocol.IsScript(t.url) {
		return target.With("script", t.url)
	}
	if t.url != "" {
		target = target.With("url", t.url)
	}
	return target
}
