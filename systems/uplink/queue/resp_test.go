package queue

import (
	"bytes"
	"fmt"
	"net"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"contend/internal/redisserver"
	"contend/internal/redisserver/redistest"
)

// A script is a connection that answers with what it is given.
type script struct {
	net.Conn
	answer interface{ Read([]byte) (int, error) }
}

func (s script) Read(p []byte) (int, error) { return s.answer.Read(p) }

// A notebook writes down what a respConn reads.
type notebook struct{ lines []string }

func (n *notebook) begin(key string) { n.lines = append(n.lines, "begin "+key) }
func (n *notebook) end()             { n.lines = append(n.lines, "end") }
func (n *notebook) entry(id entryID, fields []string) {
	n.lines = append(n.lines, fmt.Sprintf("%d-%d %q", id.millis, id.seq, fields))
}

// bulks writes strings in the protocol.
func bulks(list ...string) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(s), s)
	}
	return b.String()
}

func TestWireReadsStreams(t *testing.T) {
	long := strings.Repeat("x", respBuffer)
	many := make([]string, 2*maxFields+2)
	for _, test := range []struct {
		reply string
		want  []string
		err   string
	}{
		{"*-1\r\n", nil, ""},
		{"*2\r\n" +
			"*2\r\n" + bulks("s") + "*2\r\n*2\r\n" + bulks("1-2") + "*2\r\n" + bulks("a", "b\r\n") + "*2\r\n" + bulks("3-4") + "*-1\r\n" +
			"*2\r\n" + bulks("t") + "*1\r\n*-1\r\n",
			[]string{"begin s", `1-2 ["a" "b\r\n"]`, "3-4 []", "end", "begin t", "end"}, ""},
		{"*1\r\n*2\r\n" + bulks("s") + "*1\r\n*2\r\n" + bulks("1-2") + "*2\r\n" + bulks("a", long),
			[]string{"begin s", fmt.Sprintf("1-2 [%q %q]", "a", long[:maxValue]), "end"}, ""},
		{"*1\r\n*2\r\n" + bulks("s") + "*1\r\n*2\r\n" + bulks("1-2") + fmt.Sprintf("*%d\r\n", len(many)) + bulks(many...),
			[]string{"begin s", fmt.Sprintf("1-2 %q", many[2:]), "end"}, ""},
		{"-NOGROUP No such key\r\n", nil, "NOGROUP No such key"},
		{"*1\r\n*2\r\n" + bulks("s") + "*2\r\n*2\r\n" + bulks("1-2") + "*0\r\n", []string{"begin s", "1-2 []", "end"}, "EOF"},
		{"*1\r\n*3\r\n", nil, "parts 3"},
		{":1\r\n", nil, "the line"},
		{"\r\n", nil, "the line"},
		{"\n", nil, "the line"},
		{"*x\r\n", nil, "the line"},
		{"*99999999999999999999\r\n", nil, "the line"},
		{"*1\r\n*2\r\n" + bulks("s") + "*1\r\n*2\r\n" + bulks("no"), []string{"begin s", "end"}, `the entry "no"`},
		{strings.Repeat("*", respBuffer), nil, "longer"},
	} {
		for _, w := range []*respConn{
			{conn: script{answer: strings.NewReader(test.reply)}, buf: make([]byte, respBuffer)},
			{conn: script{answer: iotest.OneByteReader(strings.NewReader(test.reply))}, buf: make([]byte, respBuffer)},
		} {
			var n notebook
			err := w.streams(&n)
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%.60q: error %v, want %q", test.reply, err, test.err)
			}
			if !reflect.DeepEqual(n.lines, test.want) {
				t.Errorf("%.60q: %.200q, want %.200q", test.reply, n.lines, test.want)
			}
		}
	}
}

func TestShortBulk(t *testing.T) {
	for text, want := range map[string]int{
		"$0\r\n\r\n": 6, "$3\r\nabc\r\nx": 9, bulks(strings.Repeat("x", 99)): 106,
		bulks(strings.Repeat("x", 100)): 0, "$3\r\nabc\r": 0, "$-1\r\n*": 0, "$x\r\nabc\r\n": 0, "+OK\r\nabc": 0, "$3": 0,
		"$/\r\n\r\n": 0, "$:\r\n": 0,
	} {
		if _, size := shortBulk([]byte(text)); size != want {
			t.Errorf("%q: %d bytes, want %d", text, size, want)
		}
	}
}

func FuzzWire(f *testing.F) {
	f.Add([]byte("*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-2\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n"))
	f.Add([]byte("-ERR x\r\n"))
	f.Add([]byte("*-1\r\n"))
	f.Fuzz(func(t *testing.T, reply []byte) {
		w := respConn{conn: script{answer: bytes.NewReader(reply)}, buf: make([]byte, 4<<10)}
		var n notebook
		_ = w.streams(&n)
		if len(w.text) > 2*maxFields*maxValue || len(n.lines) > len(reply) {
			t.Fatalf("%d bytes, %d lines from %d bytes", len(w.text), len(n.lines), len(reply))
		}
	})
}

func TestPasswordAndDatabase(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := openURL(t, server.URL())
	for _, cmd := range [][]string{
		{"ACL", "SETUSER", "router", "on", ">two", "~*", "&*", "+@all"},
		{"CONFIG", "SET", "requirepass", "one"},
	} {
		must(t, admin, cmd...)
	}
	for _, user := range []string{":one@", "router:two@"} {
		r := openURL(t, strings.Replace(server.URL(), "://", "://"+user, 1)+"?db=3")
		produce(t, r, frames(0, 10))
		c, stop := startIntake(t, r, IntakeConfig{}, true)
		until(t, "all are read", func() bool { return c.count() == 10 })
		stop()
	}
	if n, err := admin.do(t.Context(), "EXISTS", keyPartitions).AsInt64(); n != 0 || err != nil {
		t.Errorf("database 0 has %d keys, %v", n, err)
	}
	if _, err := Open(t.Context(), redisserver.Config{URL: strings.Replace(server.URL(), "://", "://:wrong@", 1)}, nil); err == nil {
		t.Error("a wrong password is taken")
	}
}
