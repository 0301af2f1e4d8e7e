package cli

import (
	"net"
	"testing"
	"time"

	"contend/why/pprof"
)

// The pages are where they are asked for, as long as the service lives.
func TestServePprof(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	end := servePprof(listener)
	server, err := pprof.At("http://" + listener.Addr().String() + pprof.DefaultPath)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Find(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := server.Trace(t.Context(), time.Millisecond); err != nil {
		t.Error(err)
	}
	end()
	if server.Find(t.Context()) == nil {
		t.Error("they are there when the service has ended")
	}
}
