package revision

import (
	"context"
	"os/exec"
	"time"
)

// ending is how long a program that is interrupted has to clean up.
const ending = 5 * time.Second

// command is a program in a folder that is interrupted, with all that it started,
// when ctx is done.
func (r *Repository) command(ctx context.Context, folder string, words []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env = folder, append(r.env[:len(r.env):len(r.env)], "PWD="+folder)
	cmd.WaitDelay = ending
	group(cmd)
	return cmd
}

// run runs a command; nothing of it is left when ctx is done.
func run(ctx context.Context, cmd *exec.Cmd) error {
	err := cmd.Run()
	if ctx.Err() != nil && cmd.Process != nil {
		killGroup(cmd)
	}
	return err
}
