//go:build !linux

package static

import "errors"

func eventLoops() (ok bool, why string) { return false, "there are event loops on Linux only" }

func newLoops(*Server) (engine, error) { return nil, errors.New("static: no event loops here") }
