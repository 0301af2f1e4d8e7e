package cli

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"time"

	"contend/calibrate"
	"contend/internal/replicas"
	"contend/protocol"
)

// limitTakes is how long a worker measures itself; in tests, which start many, it is less.
var limitTakes = calibrate.LimitTakes

// selfLimit measures how many requests a second this process could send: to the counter, in a process
// of its own, which ends with it.
func (a *app) selfLimit(ctx context.Context) (perSec float64, err error) {
	command, err := self()
	if err != nil {
		return 0, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer ln.Close()
	socket, err := ln.(*net.TCPListener).File()
	if err != nil {
		return 0, err
	}
	defer socket.Close()
	ctx, cancel := context.WithCancel(ctx)
	server := replicas.Supervisor{N: 1, Patience: time.Second, Log: slog.New(slog.DiscardHandler), Start: func(int) (*replicas.Replica, error) {
		cmd := exec.Command(command[0], append(command[1:], "serve", "counter", "--guard=atomic", "--replica=1", "--http-fd=3")...)
		cmd.ExtraFiles = []*os.File{socket}
		return replicas.Start(cmd)
	}}
	serving, ended := make(chan struct{}), make(chan struct{})
	var failed error
	go func() {
		defer close(ended)
		failed = server.Run(ctx, func() { close(serving) }, func() {})
	}()
	defer func() {
		cancel()
		<-ended
	}()
	select {
	case <-serving:
	case <-ended:
		return 0, failed
	}
	opener, err := a.newOpener()
	if err != nil {
		return 0, err
	}
	url := "http://" + ln.Addr().String() + "/status/atomic"
	target, err := opener.Open(ctx, protocol.At(url))
	if err != nil {
		return 0, err
	}
	defer protocol.Close(target)
	return calibrate.Limit(ctx, url, target, limitTakes)
}
