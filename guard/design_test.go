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
		c, err := guard.NewCounter(d.Name)
		if (err == nil) != (d.NewCounter != nil) {
			t.Errorf("%s: NewCounter: error %v", d.Name, err)
		}
		if err == nil {
			c.Close()
		}
		if _, err := guard.NewAdder(d.Name); (err == nil) != (d.NewAdder != nil) {
			t.Errorf("%s: NewAdder: error %v", d.Name, err)
		}
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
	_, unknownCounter := guard.NewCounter("mutx")
	_, noState := guard.NewExclusive("atomic", 0)
	_, noValue := guard.NewCounter("striped")
	_, noAdder := guard.NewAdder("mutex")
	for _, test := range []struct {
		err  error
		want string
	}{
		{unknown, `guard: unknown design "mutx": want one of mutex, rwmutex, atomic, cas, inputq, ` +
			`inputq-pooled, inputq-batch, combining, striped`},
		{unknownCounter, unknown.Error()},
		{noState, `guard: design "atomic" gives no exclusive access to a state: want one of ` +
			`mutex, rwmutex, inputq, inputq-pooled, inputq-batch, combining`},
		{noValue, `guard: design "striped" returns no value: use NewAdder, or one of mutex, rwmutex, atomic, ` +
			`cas, inputq, inputq-pooled, inputq-batch, combining`},
		{noAdder, `guard: design "mutex" is a Counter: use NewCounter, or one of striped`},
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
