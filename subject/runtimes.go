package subject

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"contend/internal/lazyregexp"
)

var (
	node = lazyregexp.New(`^node(js)?$`)
	// naming are options of Node (20 and later) with which /tmp/perf-PID.map has the functions of scripts. None is inlined
	// into its callers, whose time would be larger by its own. V8 writes its log nowhere.
	naming = []string{"--perf-basic-prof", "--no-logfile-per-isolate", "--logfile=/dev/null", "--no-turbo-inlining"}
	// namingEnv has CPython 3.12 and later write that map (https://docs.python.org/3/howto/perf_profiling.html).
	namingEnv = "PYTHONPERFSUPPORT=1"
)

// named adds to a command what has its runtime name the functions that it runs, if it is known.
func named(argv []string) []string {
	at := slices.IndexFunc(argv, func(word string) bool { return word != "env" && !strings.Contains(word, "=") })
	if at < 0 || !node().MatchString(filepath.Base(argv[at])) {
		return argv
	}
	return slices.Insert(slices.Clone(argv), at+1, naming...)
}

// removeMaps removes what a runtime wrote because it was asked for names: of the first process, and of those that the last
// Sample saw. The process has been reaped.
func (s *Subject) removeMaps() {
	for _, pid := range append(s.census.pids, s.PID()) {
		_ = os.Remove(fmt.Sprintf("/tmp/perf-%d.map", pid)) // most have none
	}
}
