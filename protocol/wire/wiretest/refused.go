package wiretest

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/setting"
)

// A VU is one that enforces its timeout itself.
type VU interface {
	load.VU
	load.TimeoutSetter
}

// Hostile does some iterations and wants an error of one of the kinds from each, in
// time: see TimeoutFor.
func Hostile(t testing.TB, v VU, short time.Duration, kinds ...errkind.Kind) {
	t.Helper()
	timeout := TimeoutFor(short, kinds)
	v.SetTimeout(timeout)
	for range 2 {
		start := time.Now()
		out, err := v.Do(context.Background())
		took := time.Since(start)
		if err == nil {
			t.Fatalf("got %+v, want an error of kind %v", out, kinds)
		}
		if !slices.Contains(kinds, errkind.Of(err)) {
			t.Errorf("kind %s, want %v: %v", errkind.Of(err), kinds, err)
		}
		if out.Resent = 0; !reflect.DeepEqual(out, load.Outcome{}) {
			t.Errorf("outcome %+v beside an error", out)
		}
		if limit := timeout + testenv.Patience; took > limit {
			t.Errorf("took %v, allowed %v: %v", took, limit, err)
		}
		if errkind.Of(err) == errkind.Timeout && took < short {
			t.Errorf("timed out after %v already", took)
		}
	}
}

// TimeoutFor returns the timeout of iterations that end in an error of one of the
// kinds: a short one if that may be a timeout, since on a busy machine the others need
// time to show themselves.
func TimeoutFor(short time.Duration, kinds []errkind.Kind) time.Duration {
	if slices.Contains(kinds, errkind.Timeout) {
		return short
	}
	return testenv.Patience
}

// Mistakes wants an error that says all of this, each of whose mistakes names a
// setting, and which does not tell what is secret: the word secret.
func Mistakes(t testing.TB, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %q", want)
		return
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	for _, m := range setting.Mistakes(err) {
		if m.Setting.Name == "" {
			t.Errorf("%q names no setting", m)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("%q tells a secret", err)
	}
}
