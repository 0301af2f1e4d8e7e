package data_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"contend/internal/testenv"
	"contend/protocol/data"
)

// numbered returns rows with a column "n" that counts from 0.
func numbered(tb testing.TB, n int) *data.Rows {
	tb.Helper()
	var b strings.Builder
	b.WriteString("n\n")
	for i := range n {
		fmt.Fprintln(&b, i)
	}
	rows, err := data.ParseRows("n.csv", []byte(b.String()))
	testenv.Must(tb, err)
	return rows
}

// taken returns the rows that a VU gets in its first iterations.
func taken(tb testing.TB, source *data.Source, vu, iterations int) []string {
	tb.Helper()
	template, err := data.ParseTemplate(data.Text, "{{n}}", source.Rows)
	testenv.Must(tb, err)
	cursor, err := source.Cursor(vu)
	testenv.Must(tb, err)
	got := make([]string, iterations)
	for i := range got {
		cursor.Next()
		got[i] = string(template.AppendTo(nil, cursor))
	}
	return got
}

func TestOrders(t *testing.T) {
	for _, tt := range []struct {
		name   string
		source *data.Source
		want   []string // of VU 0, then of VU 1
	}{
		{"sequential", &data.Source{Rows: numbered(t, 5)}, []string{"0 1 2 3", "4 0 1 2"}},
		// VU 0: rows 0, 2, 4 of 5 and again; VU 1: rows 1, 3 and again.
		{"per-vu", &data.Source{Rows: numbered(t, 5), Order: data.PerVU, VUs: 2}, []string{"0 2 4 0", "1 3 1 3"}},
		{"a row each", &data.Source{Rows: numbered(t, 2), Order: data.PerVU, VUs: 2}, []string{"0 0 0 0", "1 1 1 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			testenv.Must(t, tt.source.Validate())
			for vu, want := range tt.want {
				if got := strings.Join(taken(t, tt.source, vu, 4), " "); got != want {
					t.Errorf("VU %d: got %s, want %s", vu, got, want)
				}
			}
		})
	}
}

func TestPerVUSharesNoRowAndUsesAll(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(rt, "rows")
		vus := rapid.IntRange(1, n).Draw(rt, "VUs")
		source := &data.Source{Rows: numbered(t, n), Order: data.PerVU, VUs: vus}
		owner := map[string]int{}
		for vu := range vus {
			for _, row := range taken(t, source, vu, 2*n) {
				if other, ok := owner[row]; ok && other != vu {
					rt.Fatalf("row %s is used by VU %d and %d", row, other, vu)
				}
				owner[row] = vu
			}
		}
		if len(owner) != n {
			rt.Errorf("%d of %d rows are used", len(owner), n)
		}
	})
}

func TestSequentialHandsOutEachRowOnceARound(t *testing.T) {
	const vus, rows, rounds = 8, 100, 4
	source := &data.Source{Rows: numbered(t, rows)}
	got := make([][]string, vus)
	var wg sync.WaitGroup
	for vu := range vus {
		wg.Go(func() { got[vu] = taken(t, source, vu, rows*rounds/vus) })
	}
	wg.Wait()
	count := map[string]int{}
	for _, row := range slices.Concat(got...) {
		count[row]++
	}
	for row, n := range count {
		if n != rounds {
			t.Errorf("row %s was handed out %d times, want %d", row, n, rounds)
		}
	}
	if len(count) != rows {
		t.Errorf("%d of %d rows were handed out", len(count), rows)
	}
}

func TestRandomOrder(t *testing.T) {
	const n, draws = 10, 10000
	rows := numbered(t, n)
	first := taken(t, &data.Source{Rows: rows, Order: data.Random, Seed: 1}, 0, draws)
	if again := taken(t, &data.Source{Rows: rows, Order: data.Random, Seed: 1}, 0, draws); !slices.Equal(first, again) {
		t.Error("the same seed and VU drew other rows")
	}
	if other := taken(t, &data.Source{Rows: rows, Order: data.Random, Seed: 1}, 1, draws); slices.Equal(first, other) {
		t.Error("another VU drew the same rows")
	}
	if other := taken(t, &data.Source{Rows: rows, Order: data.Random, Seed: 2}, 0, draws); slices.Equal(first, other) {
		t.Error("another seed drew the same rows")
	}
	count := map[string]int{}
	for _, row := range first {
		count[row]++
	}
	// A count is binomial: mean 1000, standard deviation √(10000·0.1·0.9) = 30.
	for row, drawn := range count {
		if drawn < 1000-6*30 || drawn > 1000+6*30 {
			t.Errorf("row %s was drawn %d times of %d", row, drawn, draws)
		}
	}
	if len(count) != n {
		t.Errorf("%d of %d rows were drawn", len(count), n)
	}
}

func TestSourceMistakes(t *testing.T) {
	rows := numbered(t, 3)
	for _, tt := range []struct {
		give *data.Source
		want string
	}{
		{&data.Source{Rows: rows, Order: data.PerVU, VUs: 4}, "row_order is per-vu with 4 callers and 3 rows in n.csv; expected 1 to 3 callers"},
		{&data.Source{Rows: rows, Order: data.PerVU}, "row_order is per-vu with 0 callers"},
		{&data.Source{Order: 7}, "row_order is Order(7); expected sequential, per-vu or random"},
	} {
		testenv.Says(t, tt.give.Validate(), tt.want)
	}
	source := &data.Source{Rows: rows, Order: data.PerVU, VUs: 3}
	for _, vu := range []int{-1, 3} {
		if _, err := source.Cursor(vu); err == nil {
			t.Errorf("VU %d of 3 got a cursor", vu)
		}
	}
}

func TestParseOrder(t *testing.T) {
	for _, order := range []data.Order{data.Sequential, data.PerVU, data.Random} {
		if got, err := data.ParseOrder(order.String()); err != nil || got != order {
			t.Errorf("%v: got %v, %v", order, got, err)
		}
	}
	if _, err := data.ParseOrder("shuffled"); err == nil {
		t.Error("shuffled is taken for an order")
	}
}
