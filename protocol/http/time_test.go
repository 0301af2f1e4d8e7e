package http

import (
	"bufio"
	"context"
	"io"
	"net"
	nethttp "net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
)

// A slowServer answers over net.Pipe after a delay that the request's path
// names. In a bubble that takes no time.
type slowServer struct{ wg sync.WaitGroup }

func (s *slowServer) dial(context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	s.wg.Go(func() {
		defer server.Close()
		r := bufio.NewReader(server)
		for {
			request, err := nethttp.ReadRequest(r)
			if err != nil {
				return
			}
			delay, _ := time.ParseDuration(request.URL.Query().Get("delay"))
			time.Sleep(delay)
			if _, err := io.WriteString(server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"); err != nil {
				return
			}
		}
	})
	return client, nil
}

// inBubble calls test with a VU whose server answers after delay.
func inBubble(t *testing.T, delay string, test func(t *testing.T, v *vu)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var s slowServer
		target, err := New(Config{URL: "http://slow/?delay=" + delay, Dial: s.dial})
		testenv.Must(t, err)
		v, err := target.NewVU(t.Context(), 0)
		testenv.Must(t, err)
		test(t, v.(*vu))
		if err := v.(io.Closer).Close(); err != nil {
			t.Error(err)
		}
		s.wg.Wait()
	})
}

func TestTimeoutHoldsForEachIterationAlone(t *testing.T) {
	// 20 iterations of 0.9 s against a timeout of 1 s, though the deadline is
	// moved only now and then.
	inBubble(t, "900ms", func(t *testing.T, v *vu) {
		v.SetTimeout(time.Second)
		for i := range 20 {
			if _, err := v.Do(t.Context()); err != nil {
				t.Fatalf("iteration %d: %v", i, err)
			}
		}
	})
}

func TestTimeoutIsAtMostATenthLate(t *testing.T) {
	for _, timeout := range []time.Duration{time.Nanosecond, time.Microsecond, time.Millisecond, time.Second, time.Minute} {
		inBubble(t, "1h", func(t *testing.T, v *vu) {
			v.SetTimeout(timeout)
			for range 3 { // the first over the early connection, the others over their own
				start := time.Now()
				_, err := v.Do(t.Context())
				took := time.Since(start)
				if errkind.Of(err) != errkind.Timeout || took < timeout || took > timeout+timeout/10 {
					t.Errorf("timeout %v: %v after %v", timeout, err, took)
				}
			}
		})
	}
}

func TestNoTimeoutWaits(t *testing.T) {
	inBubble(t, "1000h", func(t *testing.T, v *vu) {
		for range 2 {
			if _, err := v.Do(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestContextInterruptsABlockedIterationAtOnce(t *testing.T) {
	inBubble(t, "1h", func(t *testing.T, v *vu) {
		v.SetTimeout(time.Hour)
		for _, test := range []struct {
			make func() (context.Context, context.CancelFunc)
			want errkind.Kind
		}{
			{func() (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				return ctx, cancel
			}, errkind.Cancelled},
			{func() (context.Context, context.CancelFunc) {
				return context.WithTimeout(t.Context(), time.Second)
			}, errkind.Timeout},
		} {
			ctx, cancel := test.make()
			start := time.Now()
			_, err := v.Do(ctx)
			if took := time.Since(start); errkind.Of(err) != test.want || took != time.Second {
				t.Errorf("%v after %v, want kind %s after 1s", err, took, test.want)
			}
			cancel()
		}
	})
}

func TestADialThatHangsDelaysTheStartOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target, err := New(Config{URL: "http://h/", Dial: func(ctx context.Context) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		testenv.Must(t, err)
		for id, want := range []time.Duration{250 * time.Millisecond, 0, 0} {
			start := time.Now()
			made, err := target.NewVU(t.Context(), id)
			if took := time.Since(start); err != nil || took != want {
				t.Errorf("NewVU %d took %v, %v; want %v", id, took, err, want)
			}
			v := made.(*vu)
			v.SetTimeout(2 * time.Second)
			start = time.Now()
			_, err = v.Do(t.Context())
			if took := time.Since(start); errkind.Of(err) != errkind.Timeout || took != 2*time.Second {
				t.Errorf("Do of %d: %v after %v", id, err, took)
			}
			testenv.Must(t, v.Close())
		}
	})
}
