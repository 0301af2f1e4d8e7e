package cli

import (
	"bytes"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/protocol/wire/wiretest"
)

// A server that does not listen ends a command before anything is driven: the load
// here is of an hour. The reason is printed once, by a page if the command has one.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	address := testenv.HeldAddress(t)
	call := address + "/counter.incrementCounter/increment --proto ../../systems/counter/counterpb/counter.proto"
	for _, words := range []string{
		"run -d 1h http://" + address,
		"run -d 1h --engine goroutines http://" + address,
		"run -d 1h --http 2 http://" + address,
		"run -d 1h --rate 100 https://" + address,
		"run -d 1h --http 3 https://" + address,
		"run -d 1h grpc://" + address + "/a.B/C",
		"run -d 1h grpc://" + call,
		"run -d 1h --engine goroutines grpc://" + call,
		"run -d 1h ws://" + address,
		"run -d 1h --data x --length 1 tcp://" + address,
		"run -d 1h http+unix://" + filepath.Join(t.TempDir(), "none.sock") + ":/",
		"compare --block 1h http://" + address + " http://" + address,
		"sweep -d 1h http://" + address,
		"sweep --rate -d 1h --max-attempt 1h --objective response_p99_ns<20ms http://" + address,
		"ab -t 3600 http://" + address + "/",
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			if code := Main(t.Context(), strings.Fields(words), Streams{&out, &errs}); code != exitFailed {
				t.Errorf("exit code %d, want %d: %s", code, exitFailed, &out)
			}
			said, silent := &out, &errs
			if strings.HasPrefix(words, "ab ") {
				said, silent = silent, said
			} else if !strings.Contains(out.String(), "\nFAILED: ") {
				t.Errorf("no page of a failure:\n%s", &out)
			}
			if silent.Len() > 0 {
				t.Errorf("said twice: %s", silent)
			}
			if text := strings.Join(strings.Fields(said.String()), " "); !strings.Contains(text, "refused") && !strings.Contains(text, "no such file") {
				t.Errorf("%s does not say why", text)
			}
		})
	}
}

// If neither of two servers responds, the page names both.
func TestNobodyListensTwice(t *testing.T) {
	t.Parallel()
	a, b := testenv.HeldAddress(t), testenv.HeldAddress(t)
	var out bytes.Buffer
	code := Main(t.Context(), []string{"compare", "http://" + a + "/", "http://" + b + "/"}, Streams{&out, io.Discard})
	if text := strings.Join(strings.Fields(out.String()), " "); code != exitFailed ||
		!strings.HasPrefix(text, "Nothing can be measured at http://"+a+"/ and http://"+b+"/: ") {
		t.Errorf("exit code %d: %s", code, &out)
	}
}

// One that takes connections and says nothing is waited for as long as for an answer.
func TestSilenceEndsWithTheTimeout(t *testing.T) {
	t.Parallel()
	address := wiretest.Listen(t, func(conn net.Conn) { io.Copy(io.Discard, conn) })
	var out bytes.Buffer
	code := Main(t.Context(), []string{"run", "-d", "1h", "--timeout", "50ms", "https://" + address}, Streams{&out, io.Discard})
	// The context's timer or the connection's, whichever is first.
	if code != exitFailed || !strings.Contains(out.String(), "deadline exceeded") && !strings.Contains(out.String(), "i/o timeout") {
		t.Errorf("exit code %d: %s", code, &out)
	}
}
