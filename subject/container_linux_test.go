package subject

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"contend/internal/perf"
	"contend/internal/testenv"
)

const anID = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// Where Docker and Podman put containers, and what is not one.
func TestFindGroup(t *testing.T) {
	const v2, v1 = "24 1 0:21 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "25 1 0:22 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	const stat = "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n"
	for _, tt := range []struct {
		name, groups, mounts string
		files                map[string]string
		want                 string // folder, or error
		used                 time.Duration
	}{
		{"Docker with systemd", "0::/system.slice/docker-ID.scope", v2,
			map[string]string{"sys/fs/cgroup/system.slice/docker-ID.scope/cpu.stat": stat}, "sys/fs/cgroup/system.slice/docker-ID.scope", 1500 * time.Microsecond},
		{"Docker without", "0::/docker/ID", v2,
			map[string]string{"sys/fs/cgroup/docker/ID/cpu.stat": stat}, "sys/fs/cgroup/docker/ID", 1500 * time.Microsecond},
		{"a group of the container's own", "0::/docker/ID/init.scope", v2,
			map[string]string{"sys/fs/cgroup/docker/ID/cpu.stat": stat}, "sys/fs/cgroup/docker/ID", 1500 * time.Microsecond},
		{"Podman of a user, not its monitor", "0::/user.slice/user-1.slice/libpod-conmon-ID.scope\n0::/user.slice/user-1.slice/libpod-ID.scope/container", v2,
			map[string]string{"sys/fs/cgroup/user.slice/user-1.slice/libpod-ID.scope/cpu.stat": stat}, "sys/fs/cgroup/user.slice/user-1.slice/libpod-ID.scope", 1500 * time.Microsecond},
		{"version 1", "4:memory:/docker/ID\n3:cpu,cpuacct:/docker/ID", v1,
			map[string]string{"sys/fs/cgroup/cpu,cpuacct/docker/ID/cpuacct.usage": "1500\n"}, "sys/fs/cgroup/cpu,cpuacct/docker/ID", 1500},
		{"both versions", "3:cpu,cpuacct:/docker/ID\n0::/system.slice/docker.service", v2 + v1,
			map[string]string{"sys/fs/cgroup/cpu,cpuacct/docker/ID/cpuacct.usage": "1500\n"}, "sys/fs/cgroup/cpu,cpuacct/docker/ID", 1500},
		{"a mount of a part", "0::/pod/docker/ID", strings.Replace(v2, " / ", " /pod ", 1),
			map[string]string{"sys/fs/cgroup/docker/ID/cpu.stat": stat}, "sys/fs/cgroup/docker/ID", 1500 * time.Microsecond},
		{"elsewhere", "0::/docker/0123", v2, nil, "no process here is in a control group of container 0123456789ab", 0},
		{"only the monitor", "0::/libpod-conmon-ID.scope", v2, nil, "no process here", 0},
		{"not mounted", "0::/docker/ID", "", nil, "the control group of container 0123456789ab, /docker/0123", 0},
		{"outside of the mount", "0::/docker/ID", strings.Replace(v2, " / ", " /pod ", 1), nil, "cannot be read", 0},
		{"above the namespace", "0::/../../docker/ID", v2, nil, "cannot be read", 0},
		{"a figure of another form", "0::/docker/ID", v2, map[string]string{"sys/fs/cgroup/docker/ID/cpu.stat": "user_usec 1\n"}, "cannot be read", 0},
		{"no CPU controller", "4:memory:/docker/ID", "26 1 0:23 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", nil, "cannot be read", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := fstest.MapFS{"proc/self/mountinfo": {Data: []byte(tt.mounts)}, "proc/1/cgroup": {Data: []byte("0::/init.scope\n0:\n")}}
			for i, line := range strings.Split(strings.ReplaceAll(tt.groups, "ID", anID), "\n") {
				file := fmt.Sprintf("proc/%d/cgroup", 10+i)
				root[file] = &fstest.MapFile{Data: []byte(line + "\n")}
			}
			for name, text := range tt.files {
				root[strings.ReplaceAll(name, "ID", anID)] = &fstest.MapFile{Data: []byte(text)}
			}
			g, err := findGroup(root, anID)
			if tt.used == 0 {
				testenv.Says(t, err, tt.want)
				return
			}
			testenv.Must(t, err)
			if used, err := g.used(); g.dir != strings.ReplaceAll(tt.want, "ID", anID) || used != tt.used || err != nil {
				t.Errorf("%s with %v, %v, want %s with %v", g.dir, used, err, tt.want, tt.used)
			}
		})
	}
}

func TestGroupPids(t *testing.T) {
	root := fstest.MapFS{"g/cgroup.procs": {Data: []byte("7\n5\n")}, "g/cpu.stat": {}, "g/sub/deep/cgroup.procs": {Data: []byte("9\n0\n")}, "h/cgroup.procs": {Data: []byte("11\n")}}
	got, err := (&group{root: root, dir: "g"}).pids()
	if want := "[7 5 9]"; fmt.Sprint(got) != want || err != nil {
		t.Errorf("%v, %v, want %s", got, err, want)
	}
	if _, err := (&group{root: root, dir: "gone"}).pids(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of a group that has gone: %v", err)
	}
}

// standIn is this binary by the name of a client: it knows `run --cidfile FILE IMAGE
// COMMAND…`, whose process is in a control group of its own and no relative of the
// client, and `kill ID`. groupsKey names the folder of the groups; empty: of none.
func standIn(args []string) {
	groups := os.Getenv(groupsKey)
	switch args[0] {
	case "run":
		file, _ := option(args, "--cidfile")
		standInRun(file, groups, args[slices.Index(args, "image")+1:])
	case "kill":
		for _, pid := range inGroup(filepath.Join(groups, args[1])) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

const groupsKey = "SUBJECT_TEST_GROUPS"

func standInRun(cidfile, groups string, command []string) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	var random [32]byte
	rand.Read(random[:])
	id, group := hex.EncodeToString(random[:]), ""
	if groups != "" {
		group = filepath.Join(groups, id)
		must(0, os.Mkdir(group, 0o755))
	}
	must(0, os.WriteFile(cidfile, []byte(id), 0o600))
	// The shell is the daemon: it leaves at once, and what it began is nobody's child. That
	// is a shell, too, and no Go program, whose exec from another thread than its first
	// shows a zombie for a moment.
	r, w, err := os.Pipe()
	must(0, err)
	const begin = `if [ "$0" ]; then echo $$ >"$0/cgroup.procs"; fi && exec "$@"`
	daemon := exec.Command("/bin/sh", slices.Concat([]string{"-c", `/bin/sh -c "$@" & echo $!`, "sh", begin, group}, command)...)
	daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	daemon.Stdout, daemon.Stderr = w, os.Stderr
	must(0, daemon.Run())
	w.Close()
	lines := bufio.NewScanner(r)
	lines.Scan()
	contained := must(strconv.Atoi(lines.Text()))
	go func() {
		for lines.Scan() {
			fmt.Println(lines.Text())
		}
	}()
	for !gone(contained) {
		select {
		case <-signals:
			syscall.Kill(contained, syscall.SIGTERM)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func inGroup(group string) (pids []int) {
	text, _ := os.ReadFile(filepath.Join(group, "cgroup.procs"))
	for _, field := range strings.Fields(string(text)) {
		pids = append(pids, must(strconv.Atoi(field)))
	}
	return pids
}

// client puts the stand-in on the PATH under its name.
func client(t *testing.T, name string) {
	t.Helper()
	bin := t.TempDir()
	testenv.Must(t, os.Symlink(must(os.Executable()), filepath.Join(bin, name)))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// groups makes a folder for control groups in each hierarchy that counts CPU time, by
// version; those of the test are removed at its end.
func groups(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	var lacking []error
	for _, m := range must(groupMounts(os.DirFS("/"))) {
		version := "2"
		if !m.version2 {
			version = "1"
		}
		if !m.version2 && m.folder(place{"cpuacct", "/"}) == "" {
			continue
		}
		dir := filepath.Join("/", m.at, fmt.Sprintf("contend-test-%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-")), "docker")
		if err := errors.Join(os.MkdirAll(dir, 0o755), tryGroup(dir)); err != nil {
			lacking = append(lacking, err)
			continue
		}
		t.Cleanup(func() {
			testenv.Eventually(t, "removed: "+dir, func() bool { // a zombie holds it until it is reaped
				for _, file := range must(filepath.Glob(dir + "/*/cgroup.procs")) {
					os.Remove(filepath.Dir(file))
				}
				return os.Remove(dir) == nil && os.Remove(filepath.Dir(dir)) == nil
			})
		})
		found[version] = dir
	}
	if len(found) == 0 {
		testenv.Hardware(t, fmt.Errorf("a control group that can be made: %w", errors.Join(lacking...)))
	}
	return found
}

// tryGroup puts a process into a group.
func tryGroup(dir string) error {
	return exec.Command("/bin/sh", "-c", `echo $$ >"$1/cgroup.procs"`, "sh", dir).Run()
}

// contained is a subject that plays a role in a container.
func contained(groups, name string, args ...string) Config {
	cfg := role(name, args...)
	cfg.Command = append([]string{"docker", "run", "image"}, cfg.Command...)
	cfg.Env = append(cfg.Env, groupsKey+"="+groups)
	return cfg
}

// inEachGroup runs a test with a folder for control groups of each version.
func inEachGroup(t *testing.T, test func(t *testing.T, folder string)) {
	client(t, "docker")
	for version, folder := range groups(t) {
		t.Run("version "+version, func(t *testing.T) {
			t.Parallel()
			test(t, folder)
		})
	}
}

// A sample covers the container: its CPU time, also of processes that have ended, its
// memory and its threads. All of it ends with its first process.
func TestContainer(t *testing.T) {
	inEachGroup(t, func(t *testing.T, folder string) {
		const burnt = 200 * time.Millisecond
		s := started(t, with(contained(folder, "family", burnt.String()), Ready{Log: "^pids "}))
		family := pids(t, s.stdout.text())
		sample, err := s.Sample()
		testenv.Must(t, err)
		used := must(s.container.group.used())
		again := must(s.Sample())
		if most := must(s.container.group.used()); sample.CPU < burnt || again.CPU < used || again.CPU > most {
			t.Errorf("CPU is %v and %v, want at least %v, and %v to %v", sample.CPU, again.CPU, burnt, used, most)
		}
		if sample.Threads < len(family) || sample.RSSBytes == 0 || sample.CPUs == 0 {
			t.Errorf("sample is %+v", sample)
		}
		clocks, err := s.Clocks()
		if err != nil || clocks.CPU < sample.CPU || clocks.Elapsed < sample.Elapsed {
			t.Errorf("clocks are %+v after %+v: %v", clocks, sample, err)
		}
		threads := must(threadsOf(s.PID(), s.container))
		for _, pid := range family {
			if !slices.Contains(threads, pid) {
				t.Errorf("process %d is not among the threads %v", pid, threads)
			}
		}
		if slices.Contains(threads, s.PID()) {
			t.Errorf("the client, process %d, is among the threads %v", s.PID(), threads)
		}
		testenv.Must(t, s.Stop(testContext()))
		for _, pid := range family {
			waitGone(t, pid) // it leaves its group a moment before it is a zombie
		}
	})
}

// A container ends, too, when its client is killed and passes nothing on.
func TestContainerOfKilledClient(t *testing.T) {
	inEachGroup(t, func(t *testing.T, folder string) {
		cfg := with(contained(folder, "stubborn"), Ready{Log: "ignoring"})
		cfg.StopTimeout = 50 * time.Millisecond
		s := started(t, cfg)
		inside := must(threadsOf(s.PID(), s.container))
		testenv.Must(t, s.Stop(testContext()))
		if len(inside) == 0 {
			t.Fatal("no process was in the container")
		}
		waitGone(t, inside[0])
		cfg = with(contained(folder, "stubborn"), Ready{Log: "never"})
		cfg.StartTimeout = 125 * time.Millisecond
		id := filepath.Join(t.TempDir(), "id")
		cfg.Command = slices.Insert(cfg.Command, 2, "--cidfile", id)
		testenv.Eventually(t, "what is in it runs in time", func() bool { // one that begins after its client was killed is nobody's
			cfg.StartTimeout *= 2
			_, err := Start(t.Context(), cfg)
			testenv.Says(t, err, "not ready after")
			return strings.Contains(fmt.Sprint(err), "ignoring")
		})
		for _, pid := range inGroup(filepath.Join(folder, string(must(os.ReadFile(id))))) {
			waitGone(t, pid)
		}
	})
}

// containerHolder starts a family in a container, tells its processes, and waits to be
// killed.
func containerHolder(args []string) {
	cfg := with(contained(args[0], "family", "1ms"), Ready{Log: "^pids "})
	fmt.Println(must(Start(testContext(), cfg)).stdout.text())
	hang()
}

func TestContainerAfterKillMinus9(t *testing.T) {
	inEachGroup(t, func(t *testing.T, folder string) {
		holder, family := startHolder(t, "containerHolder", folder)
		holder.Kill()
		for _, pid := range family {
			waitGone(t, pid)
		}
	})
}

// Events are counted in the container, also where they are to be counted from the start.
func TestCountersOfContainer(t *testing.T) {
	countable(t, perf.PageFaults)
	inEachGroup(t, func(t *testing.T, folder string) {
		cfg := contained(folder, "work", "{{addr}}")
		cfg.Counted = []perf.Event{perf.PageFaults}
		cfg.Env = append(cfg.Env, "GOGC=off")
		s := started(t, cfg)
		ask(t, s.Addr(""), unit)
		if s.counters != nil {
			t.Error("the client is counted")
		}
		c, err := s.Counters(perf.PageFaults)
		testenv.Must(t, err)
		defer c.Close()
		cost := func(units int) uint64 {
			must(0, c.Start())
			ask(t, s.Addr(""), units*unit)
			return must(c.Stop())[perf.PageFaults]
		}
		three := cost(3)
		near(t, "pages", three-cost(1), 2*unit)
	})
}

// Where the container is not known its client is not taken for it.
func TestClientIsNotSampled(t *testing.T) {
	client(t, "docker")
	for _, tt := range []struct{ name, shell, want string }{
		{"without a group", "", "no process here is in a control group of container "},
		{"behind a shell", `docker run --cidfile "$0" image "$@"; exit`, "is only the client of a container: this command is to begin with docker run"},
		{"without an id", "", "the id of the container is not known: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := with(contained("", "print", "on"), Ready{Log: "^on$"})
			id := filepath.Join(t.TempDir(), "id")
			if tt.shell != "" {
				cfg.Command = slices.Concat([]string{"/bin/sh", "-c", tt.shell, id}, cfg.Command[3:])
			} else {
				cfg.Command = slices.Insert(cfg.Command, 2, "--cidfile", id)
			}
			cfg.Counted = []perf.Event{perf.PageFaults}
			s := started(t, cfg)
			if tt.name == "without an id" {
				must(0, os.WriteFile(id, []byte("none"), 0o600))
			}
			_, err := s.Sample()
			testenv.Says(t, err, tt.want)
			_, err = s.Counters(perf.PageFaults)
			testenv.Says(t, err, tt.want)
		})
	}
}
