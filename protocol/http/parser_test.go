package http

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"contend/errkind"
)

// A reading is all that a parser says about one answer.
type reading struct {
	Status   int
	Used     int  // bytes
	Reusable bool // only where the answer is complete
	Err      error
}

// read feeds data in pieces that end at the given cuts and then ends the
// connection, unless the answer is complete by then.
func read(head bool, data string, cuts ...int) reading {
	return readAgain(&parser{head: head}, data, cuts...)
}

// readAgain is read with a parser that may have read before.
func readAgain(p *parser, data string, cuts ...int) reading {
	p.reset()
	used, from := 0, 0
	for _, to := range append(cuts, len(data)) {
		n, err := p.feed([]byte(data[from:to]))
		used += n
		if err != nil {
			return reading{Err: err}
		}
		if p.done() {
			break
		}
		from = to
	}
	if err := p.eof(); err != nil {
		return reading{Err: err}
	}
	return reading{Status: p.status, Used: used, Reusable: p.reusable()}
}

// answers are complete and right; the rest is what must not be read.
var answers = []struct {
	name         string
	head         bool
	answer, rest string
	status       int
	reusable     bool
}{
	{name: "content length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", rest: "HTTP", status: 200, reusable: true},
	{name: "empty body", answer: "HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n", rest: "x", status: 200, reusable: true},
	{name: "equal lengths", answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 02\r\n\r\nok", status: 200, reusable: true},
	{name: "no reason", answer: "HTTP/1.1 404\r\nContent-Length: 2\r\n\r\nno", status: 404, reusable: true},
	{name: "bare line feeds", answer: "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", status: 200, reusable: true},
	{name: "folded field", answer: "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\tc\r\nContent-Length: 2\r\n\r\nok", status: 200, reusable: true},
	{name: "close", answer: "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 2\r\n\r\nok", rest: "x", status: 200},
	{name: "1.0", answer: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", status: 200},
	{name: "1.0 kept", answer: "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok", status: 200, reusable: true},
	{name: "until close", answer: "HTTP/1.1 200 OK\r\nX: y\r\n\r\neverything is body\r\n\r\n", status: 200},
	{name: "until close, empty", answer: "HTTP/1.1 200 OK\r\n\r\n", status: 200},
	{name: "HEAD", head: true, answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", rest: "hello", status: 200, reusable: true},
	{name: "HEAD chunked", head: true, answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", status: 200, reusable: true},
	{name: "HEAD without length", head: true, answer: "HTTP/1.1 200 OK\r\n\r\n", rest: "x", status: 200, reusable: true},
	{name: "204", answer: "HTTP/1.1 204 No Content\r\n\r\n", rest: "x", status: 204, reusable: true},
	{name: "304 with length", answer: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", rest: "x", status: 304, reusable: true},
	{name: "interim answers", answer: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\nConnection: close\r\n\r\n" +
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", rest: "x", status: 200, reusable: true},
	{name: "101", answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", rest: "other", status: 101},
	{name: "chunked", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\nA\r\n, world...\r\n0\r\n\r\n", rest: "x", status: 200, reusable: true},
	{name: "chunk extensions", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n005 ; a=b;c\r\nhello\r\n0;end\r\n\r\n", rest: "x", status: 200, reusable: true},
	{name: "trailers", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: b\r\nC:d\r\n\r\n", rest: "x", status: 200, reusable: true},
	{name: "coded and chunked", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip , ,CHUNKED\r\n\r\n1\r\nx\r\n0\r\n\r\n", rest: "x", status: 200, reusable: true},
	{name: "coded in two fields", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", rest: "x", status: 200, reusable: true},
	{name: "not coded", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nok", rest: "x", status: 200, reusable: true},
	{name: "until close, coded", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 1\r\n\r\nbody", status: 200},
	{name: "chunked and length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 999\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", rest: "x", status: 200, reusable: true},
}

func TestParserReadsEachAnswerHoweverItArrives(t *testing.T) {
	for _, test := range answers {
		t.Run(test.name, func(t *testing.T) {
			want := reading{Status: test.status, Used: len(test.answer), Reusable: test.reusable}
			data := test.answer + test.rest
			everywhere := make([]int, len(data))
			for i := range data {
				everywhere[i] = i
				if got := read(test.head, data, i); got != want {
					t.Fatalf("split at %d: got %+v, want %+v", i, got, want)
				}
			}
			if got := read(test.head, data, everywhere...); got != want {
				t.Errorf("byte by byte: got %+v, want %+v", got, want)
			}
		})
	}
}

func TestParserForgetsThePreviousAnswer(t *testing.T) {
	const broken = "HTTP/1.0 500 X\r\nConnection: close\r\nContent-Length: 7\r\nbroken\r\n"
	for _, before := range answers {
		for _, test := range answers {
			var p parser
			want := reading{Status: test.status, Used: len(test.answer), Reusable: test.reusable}
			check := func() {
				t.Helper()
				p.head = test.head
				if got := readAgain(&p, test.answer); got != want {
					t.Fatalf("%s after %s: got %+v, want %+v", test.name, before.name, got, want)
				}
			}
			check()
			check()
			p.head = before.head
			readAgain(&p, before.answer)
			check()
			readAgain(&p, broken)
			check()
		}
	}
}

func TestParserWantsMoreUntilTheAnswerIsComplete(t *testing.T) {
	for _, test := range answers {
		if strings.HasPrefix(test.name, "until close") {
			continue
		}
		for i := range test.answer {
			want := io.ErrUnexpectedEOF
			if i == 0 {
				want = io.EOF
			}
			if got := read(test.head, test.answer[:i]); !errors.Is(got.Err, want) {
				t.Errorf("%s, cut at %d: got %+v, want error %v", test.name, i, got, want)
			}
		}
	}
}

func TestParserRefuses(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	const chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
	for _, data := range []string{
		strings.Repeat("\r\n", maxHeaderBytes/2+1),
		"\x15\x03\x03\x00\x02\x02\x46\n",   // a TLS alert
		"SSH-2.0-OpenSSH_9.2\r\n",          // another protocol
		"HTTP/2.0 200 OK\r\n",              // another version
		"HTTP/1.x 200 OK\r\n",              //
		"HTTP/1.1 20 OK\r\n",               // two digits
		"HTTP/1.1 2000\r\n",                // four
		"HTTP/1.1 099 X\r\n",               // less than 100
		"HTTP/1.1  200 OK\r\n",             // two spaces
		"HTTP/1.1 200OK\r\n",               // none
		ok + "no colon\r\n",                //
		ok + ": no name\r\n",               //
		ok + "space : before colon\r\n",    // request smuggling, RFC 9112, section 5.1
		ok + " fold first\r\n",             //
		ok + "Content-Length: 1\r\n 2\r\n", // folded length
		ok + "Content-Length: \r\n",        //
		ok + "Content-Length: -1\r\n",      //
		ok + "Content-Length: +1\r\n",      //
		ok + "Content-Length: 5, 5\r\n",    //
		ok + "Content-Length: 0x5\r\n",     //
		ok + "Content-Length: 9999999999999999999\r\n",
		ok + "Content-Length: 5\r\nContent-Length: 6\r\n",
		ok + "Transfer-Encoding: chunked, gzip\r\n",
		ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
		chunked + "\r\n",
		chunked + "g\r\n",
		chunked + "-1\r\n",
		chunked + "ffffffffffffffff\r\n",
		chunked + "1\r\nab\r\n",
		chunked + "0\r\nno colon\r\n",
		ok + strings.Repeat("X: y\r\n", maxHeaderBytes/6+1),
		ok + "X: " + strings.Repeat("y", maxHeaderBytes),
		strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", maxHeaderBytes/25+1),
		chunked + "1;" + strings.Repeat("x", maxChunkLine),
		chunked + "0\r\n" + strings.Repeat("X: y\r\n", maxHeaderBytes/6+1),
	} {
		for _, cuts := range [][]int{nil, {len(data) / 2}, {len(data) - 1}} {
			got := read(false, data, cuts...)
			if errkind.Of(got.Err) != errkind.Protocol {
				t.Errorf("%.60q cut at %v: got %+v, want an error of kind protocol", data, cuts, got)
			}
		}
	}
}

func TestParserLimitsEachChunkLineAlone(t *testing.T) {
	var b strings.Builder
	b.WriteString("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
	for range maxHeaderBytes / 4 { // 5 bytes of lines each: more than any limit together
		b.WriteString("1\r\nx\r\n")
	}
	b.WriteString("0\r\n\r\n")
	want := reading{Status: 200, Used: b.Len(), Reusable: true}
	if got := read(false, b.String()); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func BenchmarkParser(b *testing.B) {
	header := "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sat, 21 Nov 2026 06:15:38 GMT\r\n" +
		"Content-Type: application/json\r\nContent-Length: %d\r\nConnection: keep-alive\r\n\r\n%s"
	for _, size := range []int{61, 130_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			data := fmt.Appendf(nil, header, size, strings.Repeat("x", size))
			var p parser
			b.ReportAllocs()
			for b.Loop() {
				p.reset()
				if _, err := p.feed(data); err != nil || !p.done() {
					b.Fatal(err)
				}
			}
		})
	}
}
