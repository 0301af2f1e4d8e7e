package api

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"time"
)

// followEvery is how often a token file is looked at.
const followEvery = time.Second

// Follow rereads a token file whenever its text differs from the one read, until ctx
// ends. A text counts if two looks in succession found it: whoever writes into the file
// may not be done. While the file is missing or has mistakes, the tokens stay as they
// are. Anything other than a regular file, such as a pipe, can be read only once, and
// is left alone.
func (t *Tokens) Follow(ctx context.Context, file, read string, log *slog.Logger) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	f := follower{tokens: t, taken: read, last: read, log: log}
	for info, err := os.Stat(file); err != nil || info.Mode().IsRegular(); info, err = os.Stat(file) {
		text, err := os.ReadFile(file)
		f.look(string(text), err)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

type follower struct {
	tokens      *Tokens
	taken, last string // text: in use or refused, and of the last look
	away        bool   // since the last look
	log         *slog.Logger
}

func (f *follower) look(text string, err error) {
	if err != nil {
		if !f.away {
			f.log.Warn("the token file cannot be read; its tokens go on", "error", err)
		}
		f.away = true
		return
	}
	steady := text == f.last
	f.away, f.last = false, text
	if !steady || text == f.taken {
		return
	}
	f.taken = text
	if err := f.tokens.Reread(strings.NewReader(text)); err != nil {
		f.log.Error("the token file was changed and has mistakes; the tokens of before go on", "error", err)
		return
	}
	f.log.Info("the token file was read again")
}
