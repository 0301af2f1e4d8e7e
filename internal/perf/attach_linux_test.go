package perf

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A thread that takes its state from its creator while a pass goes on is switched by a
// later one.
func TestSettle(t *testing.T) {
	on, coming := map[int]bool{1: false}, map[int]bool{}
	pass := 0
	err := settle(func() error {
		pass++
		if pass < passes {
			coming[pass+1] = false // its creator was off as its creation began
		}
		for thread := range on {
			on[thread] = true
		}
		maps.Copy(on, coming)
		clear(coming)
		return nil
	})
	if want := map[int]bool{1: true, 2: true, 3: true}; err != nil || !maps.Equal(on, want) {
		t.Errorf("%v, %v", on, err)
	}
	broken := errors.New("broken")
	for failing := 1; failing <= passes; failing++ {
		pass = 0
		err := settle(func() error {
			if pass++; pass == failing {
				return broken
			}
			return nil
		})
		if err != broken || pass != failing {
			t.Errorf("pass %d is broken: %v after %d", failing, err, pass)
		}
	}
}

// A list is what a fake process shows from look to look.
func TestAttach(t *testing.T) {
	broken := errors.New("broken")
	growing := make([][]int, attempts+1)
	for i := range growing {
		growing[i] = []int{i}
	}
	tests := []struct {
		name   string
		lists  [][]int // nil fails
		ended  []int   // as soon as they are listed
		want   []int   // threads with a group, in the end
		looked int
		err    string
	}{
		{"all stay", [][]int{{1, 2}, {1, 2}}, nil, []int{1, 2}, 2, ""},
		{"one comes, and stays", [][]int{{1}, {1, 2}, {1, 2}}, nil, []int{1, 2}, 3, ""},
		{"one takes the place of another", [][]int{{1, 2}, {1, 3}, {3, 1}}, nil, []int{1, 3}, 3, ""},
		{"one goes", [][]int{{1, 2}, {1}}, nil, []int{1, 2}, 2, ""},
		{"one ended before it was opened", [][]int{{1, 2}, {1}}, []int{2}, []int{1}, 2, ""},
		{"a dead one is shown", [][]int{{1, 2}, {1, 2}}, []int{1}, []int{2}, 2, ""},
		{"all ended", [][]int{{1, 2}, {}}, []int{1, 2}, nil, 2, os.ErrProcessDone.Error()},
		{"all were others", [][]int{{1}, {2}, {2}}, []int{1}, []int{2}, 3, ""},
		{"there is none", [][]int{{}, {}}, nil, nil, 2, os.ErrProcessDone.Error()},
		{"no list", [][]int{nil}, nil, nil, 1, "broken"},
		{"no second list", [][]int{{1}, nil}, nil, nil, 2, "broken"},
		{"one cannot be opened", [][]int{{1, 2, -1}}, nil, nil, 1, "broken"},
		{"one that comes cannot be opened", [][]int{{1}, {1, -1}}, nil, nil, 2, "broken"},
		{"always new ones", growing, nil, nil, attempts + 1, fmt.Sprintf("during each of %d attempts to count all, at last of 1;", attempts)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			looked := 0
			list := func() ([]int, error) {
				looked++
				threads := tt.lists[looked-1]
				if threads == nil {
					return nil, broken
				}
				return slices.Clone(threads), nil
			}
			opened := map[int]int{} // thread by descriptor
			open := func(thread int) (group, error) {
				switch {
				case thread < 0:
					return nil, broken
				case slices.Contains(tt.ended, thread):
					return nil, errEnded
				}
				fd := must(unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0))
				opened[fd] = thread
				return group{fd}, nil
			}
			before := openFiles(t)
			groups, err := attach(list, open)
			if kept := openFiles(t) - before; kept != len(tt.want) {
				t.Errorf("%d files are open, want %d", kept, len(tt.want))
			}
			var got []int
			for _, g := range groups {
				got = append(got, opened[g[0]])
				must(0, g.close())
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) || looked != tt.looked {
				t.Errorf("groups on %v after %d looks, want %v after %d", got, looked, tt.want, tt.looked)
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}
