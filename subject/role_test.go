package subject

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"contend/internal/rebind"
	"contend/internal/testenv"
)

// The subjects of these tests are this test binary with roleKey in its
// environment.
const roleKey = "SUBJECT_TEST_ROLE"

var roles = map[string]func(args []string){
	"serve":    serve,
	"log":      logReady,
	"hang":     func([]string) { hang() },
	"fail":     fail,
	"end":      func([]string) {},
	"print":    func(args []string) { fmt.Println(args[0]); hang() },
	"stubborn": stubborn,
	"burn":     burn,
	"family":   family,
	"orphan":   orphan,
	"flood":    flood,
	"unlucky":  unlucky,
	"holder":   holder,
	"where":    where,
	"work":     workAt,
	"activate": activate,
	"forward":  forward,
	"insist":   insist,
	"port":     listenOnPORT,
	"dial":     dial,
	"astray":   astray,
	"headless": headless,
	"rob":      rob,
	"robbed":   robbed,
	"daemon":   daemon,

	"containerHolder": containerHolder,
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "rebind" || os.Args[1] == "observe") {
		fmt.Fprintln(os.Stderr, rebind.Exec(os.Args[2:], os.Args[1] == "observe"))
		os.Exit(1)
	}
	if filepath.Base(os.Args[0]) == "docker" {
		standIn(os.Args[1:])
		os.Exit(0)
	}
	if name := os.Getenv(roleKey); name != "" {
		roles[name](os.Args[1:])
		os.Exit(0)
	}
	testenv.Main(m, 8)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// role returns the configuration that plays a role with arguments.
func role(name string, args ...string) Config {
	return Config{
		Name:    name,
		Command: append([]string{must(os.Executable())}, args...),
		Env:     []string{roleKey + "=" + name},
	}
}

// relative runs this binary in another role, its output ours.
func relative(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(must(os.Executable()), args...)
	cmd.Env = append(os.Environ(), roleKey+"="+name)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

func hang() {
	time.Sleep(2 * time.Minute) // bounded: a test that loses a process loses it for so long
}

// serve listens on the addresses in args; /late answers 200 from the third time
// on, /env the variable HANDED_OVER.
func serve(args []string) {
	asked := 0
	http.HandleFunc("/late", func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/late", http.StatusFound)
	})
	http.HandleFunc("/env", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, os.Getenv("HANDED_OVER"))
	})
	for _, addr := range args[1:] {
		go http.Serve(must(net.Listen("tcp", addr)), nil)
	}
	must(0, http.ListenAndServe(args[0], nil))
}

// listenOnPORT listens on the port of the environment and says it there.
func listenOnPORT([]string) {
	port := os.Getenv("PORT")
	listener := must(net.Listen("tcp", ":"+port))
	fmt.Println("listening")
	must(0, http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, port) })))
}

// dial connects to an address once and ends, whatever came of it.
func dial(args []string) {
	if conn, err := net.Dial("tcp", args[0]); err == nil {
		conn.Close()
	}
}

// astray listens on an address of its own choice, which it prints.
func astray([]string) {
	fmt.Println(must(net.Listen("tcp", "127.0.0.1:0")).Addr())
	hang()
}

func logReady(args []string) {
	out := os.Stdout
	if args[0] == "stderr" {
		out = os.Stderr
	}
	fmt.Fprint(out, "starting\nlisten")
	time.Sleep(20 * time.Millisecond)
	fmt.Fprintln(out, "ing on port 7")
	hang()
}

func fail(args []string) {
	for i := range 60 {
		fmt.Fprintf(os.Stderr, "line %d\n", i+1)
	}
	fmt.Fprintln(os.Stderr, strings.Join(args, " "))
	os.Exit(3)
}

func stubborn([]string) {
	signal.Ignore(syscall.SIGTERM)
	fmt.Println("ignoring")
	hang()
}

// burn uses that much CPU time, then waits.
func burn(args []string) {
	for enough := must(time.ParseDuration(args[0])); ownCPU() < enough; {
	}
	fmt.Println("burnt")
	hang()
}

// family starts three children: one that burns in our group, one that waits in
// a group of its own, and one that burns, ends and is waited for.
func family(args []string) {
	live := relative("burn", args[0])
	must(0, live.Start())
	apart := relative("hang")
	ownGroup(apart)
	must(0, apart.Start())
	brief := relative("burn", args[0])
	brief.Stdout = nil
	output := must(brief.StdoutPipe())
	must(0, brief.Start())
	output.Read(make([]byte, 1)) // "burnt"
	brief.Process.Kill()
	brief.Wait()
	fmt.Println("pids", os.Getpid(), live.Process.Pid, apart.Process.Pid)
	hang()
}

// orphan leaves a child behind that holds its output open.
func orphan([]string) {
	child := relative("hang")
	must(0, child.Start())
	fmt.Fprintln(os.Stderr, "pids", child.Process.Pid)
	os.Exit(4)
}

// flood writes args[0] MiB without a newline, then says so.
func flood(args []string) {
	block := make([]byte, 1<<20)
	for range must(strconv.Atoi(args[0])) {
		must(os.Stdout.Write(block))
	}
	fmt.Fprintln(os.Stderr, "flooded")
	hang()
}

// unlucky finds its address in use the first time: as long as the file args[0]
// does not exist. It notes its addresses in it.
func unlucky(args []string) {
	_, err := os.Stat(args[0])
	notes := must(os.OpenFile(args[0], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))
	fmt.Fprintln(notes, args[1])
	if err != nil {
		fmt.Printf("listen tcp %s: bind: address already in use\n", args[1])
		os.Exit(1)
	}
	serve(args[1:])
}

// holder starts a subject that has a family, tells its processes, and waits to
// be killed. With the address of a server it samples that and them.
func holder(server []string) {
	for _, addr := range server {
		must(0, must(must(Listening(testContext(), addr)).Profiler()).Start())
	}
	cfg := role("family", "1ms")
	cfg.Ready.Log = "^pids "
	s := must(Start(testContext(), cfg))
	if len(server) > 0 {
		must(0, must(s.Profiler()).Start())
	}
	fmt.Println(s.stdout.text())
	hang()
}

// where prints the CPUs of every thread of a child, and then of this process.
func where(args []string) {
	if len(args) == 0 {
		must(0, relative("where", "child").Run())
	}
	for _, file := range must(filepath.Glob("/proc/self/task/*/status")) {
		for line := range strings.Lines(string(must(os.ReadFile(file)))) {
			if strings.HasPrefix(line, "Cpus_allowed_list:") {
				fmt.Print(line)
			}
		}
	}
	if len(args) == 0 {
		fmt.Println("told")
		hang()
	}
}

// insist listens on args[1] and says there who it is, args[0], what it gets from
// args[2] at /peer, and whether its port is still free for itself at /again. With
// the name "parent" a child with the name "child" does the same.
func insist(args []string) {
	name, addr, peer := args[0], args[1], args[2]
	if name == "parent" {
		must(0, relative("insist", "child", addr, peer).Run())
	}
	listener := must(net.Listen("tcp", addr))
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, name) })
	http.HandleFunc("/peer", func(w http.ResponseWriter, _ *http.Request) {
		answer, err := http.Get(peer)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		io.Copy(w, answer.Body)
	})
	http.HandleFunc("/again", func(w http.ResponseWriter, _ *http.Request) {
		_, err := net.Listen("tcp", addr)
		fmt.Fprint(w, err)
	})
	http.HandleFunc("/any", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, must(net.Listen("tcp", "127.0.0.1:0")).Addr())
	})
	must(0, http.Serve(listener, nil))
}
