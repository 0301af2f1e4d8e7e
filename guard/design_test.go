package guard_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"contend/guard"
)

func TestTableAndConstructorsAgree(t *testing.T) {
	var names []string
	for _, d := range guard.Designs() {
		names = append(names, d.Name)
		if d.Summary == "" || strings.Contains(d.Summary, "\n") {
			t.Errorf("%s: summary %q: want one line", d.Name, d.Summary)
		}
		if got, want := d.Class == guard.Linearizable, d.NewCounter != nil; got != want {
			t.Errorf("%s: linearizable %v, but a Counter %v", d.Name, got, want)
		}
		e, err := guard.NewExclusive(d.Name, 0)
		if (err == nil) != d.Exclusive {
			t.Errorf("%s: NewExclusive: error %v, but Exclusive is %v", d.Name, err, d.Exclusive)
		}
		if err == nil {
			e.Close()
		}
		if (d.NewAdder != nil) == (d.NewCounter != nil) {
			t.Errorf("%s is a Counter %v, an Adder %v: want one of them", d.Name, d.NewCounter != nil, d.NewAdder != nil)
		}
	}
	if got := strings.Join(guard.Names(true), " "); got != strings.TrimSuffix(strings.Join(names, " "), " striped") {
		t.Errorf("designs that return values are %q", got)
	}
	want := "mutex rwmutex atomic cas inputq inputq-pooled inputq-batch combining striped"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("designs are %q: want %q", got, want)
	}
}

func TestDesignsReturnsAFreshSlice(t *testing.T) {
	guard.Designs()[0].Name = "changed"
	if got := guard.Designs()[0].Name; got != "mutex" {
		t.Errorf("first design is %q after a caller changed its slice", got)
	}
}

func TestLookup(t *testing.T) {
	for give, want := range map[string]string{
		"mutex": "mutex", "inputQ": "inputq", "INPUTQ-BATCH": "inputq-batch", "rwMutex": "rwmutex",
	} {
		if d, err := guard.Lookup(give); err != nil || d.Name != want {
			t.Errorf("Lookup(%q) = %q, %v: want %q", give, d.Name, err, want)
		}
	}
}

func TestErrorsNameWhatIsAllowed(t *testing.T) {
	_, unknown := guard.Lookup("mutx")
	_, noState := guard.NewExclusive("atomic", 0)
	for _, test := range []struct {
		err  error
		want string
	}{
		{unknown, `guard: design is "mutx"; expected mutex, rwmutex, atomic, cas, inputq, ` +
			`inputq-pooled, inputq-batch, combining, striped`},
		{noState, `guard: design atomic gives no exclusive access to a state; expected ` +
			`mutex, rwmutex, inputq, inputq-pooled, inputq-batch, combining`},
	} {
		if test.err == nil || test.err.Error() != test.want {
			t.Errorf("error %v, want %s", test.err, test.want)
		}
	}
}

func ExampleNewExclusive() {
	type account struct{ balance, bookings int }
	accounts, err := guard.NewExclusive("inputQ", account{balance: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	var balance int
	_ = accounts.Do(ctx, func(a *account) {
		a.balance -= 30
		a.bookings++
		balance = a.balance
	})
	fmt.Println(balance)
	_ = accounts.Close()
	fmt.Println(errors.Is(accounts.Do(ctx, func(*account) {}), guard.ErrClosed))
	// Output:
	// 70
	// true
}
