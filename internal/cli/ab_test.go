package cli

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"contend/internal/lazyregexp"
	"contend/internal/testenv"
)

// original returns the path of ab, for tests that need these tools as well.
func original(t *testing.T, tools ...string) string {
	t.Helper()
	for _, tool := range tools {
		testenv.Program(t, tool)
	}
	return testenv.Program(t, "ab")
}

// ours runs contend ab in this process.
func ours(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = Main(t.Context(), append([]string{"ab"}, args...), Streams{&out, &err})
	return out.String(), err.String(), code
}

func theirs(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), original(t), args...).Output()
	if err != nil {
		t.Fatalf("ab %q: %v", args, err)
	}
	return string(out)
}

// abServer answers by path, after a delay that makes times comparable.
func abServer(t *testing.T) *httptest.Server {
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(2 * time.Millisecond)
		w.Header().Set("Server", "stand-in/1.0")
		switch r.URL.Path {
		case "/503":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/last":
			w.Header().Set("Connection", "close")
			io.WriteString(w, "bye")
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/vary": // the first is as long as none after it
			w.Write(make([]byte, 1000+n.Add(1)))
		case "/gone": // all but the first
			if n.Add(1) > 1 {
				conn, _, _ := w.(http.Hijacker).Hijack()
				conn.Close()
				return
			}
			io.WriteString(w, "here")
		default:
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, strings.Repeat("x", 61))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

var (
	abNumber = lazyregexp.New(`\d+(?:\.\d+)?`)
	// abExtra is what the right form has and ab has not.
	abExtra = lazyregexp.New(`(?s)\n(?:<tr [^>]*><td colspan=4 [^>]*><pre>)?\nTransactions per second:.*?(?:</pre></td></tr>|$)`)
	// abDoubt is what ab says only now and then.
	abDoubt = lazyregexp.New(`(?m)^(?:WARNING|ERROR): .*\n.*reliable\.\n`)
)

// shape keeps the lines after the banner and their columns, but no figures.
func shape(report string) []string {
	begin := max(0, strings.Index(report, "\nBenchmarking"), strings.Index(report, "..done\n\n\n<table"))
	report = abDoubt().ReplaceAllString(report[begin:], "")
	var lines []string
	for line := range strings.Lines(abNumber().ReplaceAllString(report, "N")) {
		line = strings.Join(strings.Fields(line), " ")
		lines = append(lines, strings.ReplaceAll(line, "> N", ">N")) // cells are right-aligned
	}
	return lines
}

// The report has ab's lines and columns, whatever the flags.
func TestABReportAsTheOriginal(t *testing.T) {
	t.Parallel()
	s := abServer(t)
	body := testenv.Write(t, filepath.Join(t.TempDir(), "body"), "hello")
	for _, flags := range []string{
		"-n 20 -c 4 /", "-n 20 -c 4 -k /", "-n300 -c4 -kq /", "-n 200 -c 4 /", "-n 20 -d /", "-n 20 -S /", "-n 20 -dS /", "-n 20 -l /vary",
		"-n 20 /503", "-n 20 /moved", "-n 20 -i /", "-n 20 -c 2 -p BODY -T a/b /", "-n 20 -k -u BODY /", "-n 20 -m DELETE /",
		"-n 20 -w /", "-n 20 -k -x border=1 -y r -z c /503", "-n 20 -p BODY -w /", "-n 1 /", "-t 1 -c 2 -n 40 /", "-v 1 -n 5 /", "-n 20 -b 8192 -B 127.0.0.1 -r -s 5 /",
	} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(strings.ReplaceAll(strings.Replace(flags, " /", " "+s.URL+"/", 1), "BODY", body))
			want := shape(theirs(t, args...))
			out, stderr, code := ours(t, append([]string{"--strict-ab"}, args...)...)
			if got := shape(out); !slices.Equal(got, want) {
				t.Errorf("lines\n%s\nwant\n%s\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), stderr)
			}
			if code != exitDone {
				return // what is wrong is counted otherwise
			}
			out, stderr, _ = ours(t, args...)
			if got := shape(abExtra().ReplaceAllString(out, "")); !slices.Equal(got, want) || !abExtra().MatchString(out) {
				t.Errorf("lines\n%s\nwant\n%s\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), stderr)
			}
		})
	}
}

// A script that reads the report finds the same in both.
func TestABParsedAsTheOriginal(t *testing.T) {
	t.Parallel()
	original(t, "awk")
	s := abServer(t)
	parsed := func(report string) string {
		cmd := exec.CommandContext(t.Context(), "awk", "-f", "testdata/ab/parse.awk")
		cmd.Stdin = strings.NewReader(report)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	for _, flags := range []string{"-n 40 -c 4 -k /page?a=b", "-n 40 -c 4 /", "-n 40 -c 4 -l /", "-q -n 200 -c 8 -i /", "-n 40 -c 4 -k /last"} {
		args := strings.Fields(strings.Replace(flags, " /", " "+s.URL+"/", 1))
		want := parsed(theirs(t, args...))
		if strings.Count(want, "\n") < 25 {
			t.Fatalf("the script finds little:\n%s", want)
		}
		for _, form := range []string{"--strict-ab=false", "--strict-ab"} {
			out, _, code := ours(t, append([]string{form}, args...)...)
			if got := parsed(out); got != want || code != exitDone {
				t.Errorf("%s %s: exit code %d\n%swant\n%s", flags, form, code, got, want)
			}
		}
	}
	// Wrong answers are counted the same, in the strict form only.
	for _, path := range []string{"/503", "/vary", "/gone"} {
		find := regexp.MustCompile(`(?m)^(?:complete|failed|failures|non-2xx|transferred|html) .*$`)
		args := []string{"-n", "40", s.URL + path}
		s := abServer(t)
		args[2] = s.URL + path
		want := find.FindAllString(parsed(theirs(t, args...)), -1)
		s = abServer(t)
		args[2] = s.URL + path
		out, _, _ := ours(t, append([]string{"--strict-ab"}, args...)...)
		if got := find.FindAllString(parsed(out), -1); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// The files of -g and -e have ab's lines and columns.
func TestABFilesAsTheOriginal(t *testing.T) {
	t.Parallel()
	s := abServer(t)
	dir := t.TempDir()
	read := func(name string) string {
		text := testenv.Read(t, filepath.Join(dir, name))
		return string(text)
	}
	args := func(name string) []string {
		return []string{"-n", "30", "-c", "3", "-g", filepath.Join(dir, name+".tsv"), "-e", filepath.Join(dir, name+".csv"), s.URL + "/"}
	}
	theirs(t, args("original")...)
	ours(t, args("right")...)
	ours(t, append([]string{"--strict-ab"}, args("strict")...)...)
	month := regexp.MustCompile(`(?m)^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\t`)
	for _, name := range []string{"right", "strict"} {
		for _, extension := range []string{".tsv", ".csv"} {
			got, want := read(name+extension), read("original"+extension)
			if n := len(month.FindAllString(got, -1)); extension == ".tsv" && n != 30 {
				t.Errorf("%d of 30 lines begin with a time:\n%.200s", n, got)
			}
			got, want = month.ReplaceAllString(got, ""), month.ReplaceAllString(want, "")
			if abNumber().ReplaceAllString(got, "N") != abNumber().ReplaceAllString(want, "N") {
				t.Errorf("%s%s is\n%.300s\nwant the form of\n%.300s", name, extension, got, want)
			}
		}
	}
	if strings.Contains(read("strict.tsv"), ".") {
		t.Error("fractions in the strict form")
	}
	if !regexp.MustCompile(`\t\d+\.\d{3}\n`).MatchString(read("right.tsv")) {
		t.Error("no fractions in the right form")
	}
}

// A server that breaks off or talks nonsense is counted by what it did, and
// holds nobody up.
func TestABCountsByKind(t *testing.T) {
	for answer, want := range map[string]string{
		"":          "(Connect: 0, Receive: 20, Length: 0, Exceptions: 0)",
		"\x00 no\n": "(Connect: 0, Receive: 0, Length: 0, Exceptions: 20)",
		"HTTP/1.0 200 OK\r\nContent-Length: 100\r\n\r\nshort": "(Connect: 0, Receive: 20, Length: 0, Exceptions: 0)",
		"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nlonger":  "(Connect: 0, Receive: 0, Length: 0, Exceptions: 20)",
		"HTTP/1.0 500 No\r\nContent-Length: 0\r\n\r\n":        "(Connect: 0, Receive: 0, Length: 0, Exceptions: 20)",
	} {
		received(t, answer, func(address string) {
			out, stderr, code := ours(t, "-n", "20", "-c", "2", "-s", "5", address+"/")
			if code != exitFailed || !strings.Contains(out, want) || !strings.Contains(stderr, "nothing succeeded") ||
				!strings.Contains(out, "Errored responses:       20 (100.00%)") {
				t.Errorf("%q: exit code %d, want %s\n%s%s", answer, code, want, out, stderr)
			}
		})
	}
}

// Every flag of ab 2.3 exists, with a value where ab's has one.
func TestABHasEveryFlag(t *testing.T) {
	flags := newAB(&app{}).Flags()
	for flag := range strings.SplitSeq("n: c: t: s: b: B: p: u: T: v: w i C: H: A: P: X: V k d S q l g: e: r m: f: Z: E: x: y: z: I", " ") {
		letter, value := strings.CutSuffix(flag, ":")
		switch found := flags.ShorthandLookup(letter); {
		case found == nil:
			t.Errorf("no -%s", letter)
		case (found.NoOptDefVal == "") != value:
			t.Errorf("-%s: value %v, want %v", letter, !value, value)
		}
	}
}

// A time limit implies 50000 requests, unless their number comes after it.
func TestABTimeLimitImpliesRequests(t *testing.T) {
	for line, want := range map[string]int64{"-n 60 -t 1": 50000, "-t 1": 50000, "-t 1 -n 60": 60, "-n 60": 60} {
		cmd := &cobra.Command{}
		f := &abFlags{}
		f.register(cmd)
		if err := cmd.ParseFlags(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		f.read()
		if job, err := f.job([]string{"http://localhost/"}); err != nil || job.plan.Iterations != want {
			t.Errorf("%s: %v, %+v, want %d requests", line, err, job, want)
		}
	}
}

// received runs a server of one answer per connection, and returns what it was
// sent first.
func received(t *testing.T, answer string, run func(address string)) *http.Request {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	requests := make(chan *http.Request, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				r.RemoteAddr = conn.RemoteAddr().String()
				select {
				case requests <- r:
				default:
				}
			}
			io.WriteString(conn, answer)
			conn.Close()
		}
	}()
	run(l.Addr().String())
	l.Close()
	select {
	case r := <-requests:
		return r
	case <-time.After(testenv.Patience):
		t.Fatal("nothing was sent")
		return nil
	}
}

// The request is the same, except for the order of its header and its
// User-Agent. A path is sent as it is written, except for what cannot be sent.
func TestABPath(t *testing.T) {
	const right = "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"
	if r := received(t, right, func(address string) { ours(t, address+"/a%2fb|c//./d?e=%2f") }); r.RequestURI != "/a%2fb%7Cc//./d?e=%2f" {
		t.Error(r.RequestURI)
	}
	var advice bytes.Buffer
	Main(t.Context(), []string{"ab", "-n", "1", "http://h:1?a=b"}, Streams{io.Discard, &advice})
	if !strings.Contains(advice.String(), "(http://h:1/?a=b has one)") {
		t.Error(advice.String())
	}
}

func TestABRequestsAsTheOriginal(t *testing.T) {
	body := testenv.Write(t, filepath.Join(t.TempDir(), "body"), "hello")
	for _, flags := range []string{
		"http://ADDRESS/", "ADDRESS/a/b?c=d", "-k http://ADDRESS/", "-i http://ADDRESS/", "-m PATCH http://ADDRESS/", "-C a=b http://ADDRESS/",
		"-A user:pass http://ADDRESS/", "-P user:pass http://ADDRESS/", "-H X-A:b -H Accept:text/html http://ADDRESS/", "-H Host:other http://ADDRESS/",
		"-p BODY http://ADDRESS/", "-u BODY -T application/json http://ADDRESS/", "-p BODY -m QUERY http://ADDRESS/",
		"-X ADDRESS http://example.org/x?y", "-B 127.0.0.2 http://ADDRESS/", "-H User-Agent:me http://ADDRESS/",
	} {
		args := func(address string) []string {
			return strings.Fields(strings.NewReplacer("ADDRESS", address, "BODY", body).Replace(flags))
		}
		describe := func(r *http.Request) string {
			var b bytes.Buffer
			if strings.HasPrefix(r.Header.Get("User-Agent"), "ApacheBench/2.3") {
				r.Header.Del("User-Agent")
			}
			r.Host = regexp.MustCompile(`^127.0.0.1:.*`).ReplaceAllString(r.Host, "ADDRESS")
			r.Write(&b)
			from, _, _ := net.SplitHostPort(r.RemoteAddr)
			return from + " " + r.Proto + " " + r.RequestURI + "\n" + b.String()
		}
		const right = "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"
		them := describe(received(t, right, func(address string) { theirs(t, args(address)...) }))
		us := describe(received(t, right, func(address string) { ours(t, args(address)...) }))
		if us != them {
			t.Errorf("%s:\n%s\nwant\n%s", flags, us, them)
		}
	}
}

// -t with slow responses: scripts divide the two lines themselves.
func TestABTimeLimit(t *testing.T) {
	t.Parallel()
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(300 * time.Millisecond) }))
	t.Cleanup(slow.Close)
	for _, flags := range [][]string{nil, {"--strict-ab"}} {
		out, stderr, code := ours(t, append(flags, "-t", "3", "-c", "2", "-q", slow.URL+"/")...)
		number := func(label string) float64 {
			m := regexp.MustCompile(label + `:\s+([0-9.]+)`).FindStringSubmatch(out)
			if m == nil {
				t.Fatalf("%v: no %s in\n%s%s", flags, label, out, stderr)
			}
			x, _ := strconv.ParseFloat(m[1], 64)
			return x
		}
		seconds, complete, rate := number("Time taken for tests"), number("Complete requests"), number("Requests per second")
		if off := complete / seconds / rate; code != exitDone || off < 0.99 || off > 1.01 {
			t.Errorf("%v: exit code %d, %v in %v s are no %v/s", flags, code, complete, seconds, rate)
		}
	}
}
