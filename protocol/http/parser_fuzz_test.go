package http

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	nethttp "net/http"
	"strconv"
	"testing"
)

// FuzzParser checks that how the bytes arrive makes no difference, and that
// where net/http accepts an answer as well, both agree where it ends, on its
// status and on the connection's fate.
func FuzzParser(f *testing.F) {
	for _, a := range answers {
		f.Add(a.head, []byte(a.answer+a.rest), uint16(7))
	}
	f.Add(false, []byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"), uint16(1))
	f.Add(false, []byte("\x15\x03\x03\x00\x02\x02\x46\n"), uint16(1))
	f.Add(false, []byte("HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n"), uint16(31))
	f.Fuzz(func(t *testing.T, head bool, data []byte, cut uint16) {
		whole := read(head, string(data))
		split := read(head, string(data), int(cut)%(len(data)+1))
		if !sameReading(whole, split) {
			t.Fatalf("whole: %+v, split: %+v", whole, split)
		}
		p := parser{head: head}
		readAgain(&p, string(data))
		if again := readAgain(&p, string(data)); !sameReading(whole, again) {
			t.Fatalf("whole: %+v, again: %+v", whole, again)
		}
		if whole.Err != nil {
			return
		}
		want, ok := readWithNetHTTP(head, data)
		if ok && want != whole {
			t.Fatalf("net/http: %+v, parser: %+v", want, whole)
		}
	})
}

func sameReading(a, b reading) bool {
	if a.Err != nil && b.Err != nil {
		return errors.Is(a.Err, io.EOF) == errors.Is(b.Err, io.EOF) &&
			errors.Is(a.Err, io.ErrUnexpectedEOF) == errors.Is(b.Err, io.ErrUnexpectedEOF)
	}
	return a == b
}

// readWithNetHTTP returns false if net/http refuses the answer.
func readWithNetHTTP(head bool, data []byte) (reading, bool) {
	request := &nethttp.Request{Method: "GET"}
	if head {
		request.Method = "HEAD"
	}
	r := bufio.NewReaderSize(bytes.NewReader(data), len(data)+16)
	for {
		answer, err := nethttp.ReadResponse(r, request)
		if err != nil {
			return reading{}, false
		}
		if answer.StatusCode < 200 && answer.StatusCode != 101 {
			continue
		}
		if answer.StatusCode == 101 {
			answer.Body = nethttp.NoBody
			answer.Close = true
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			return reading{}, false
		}
		length, _ := strconv.Atoi(answer.Header.Get("Content-Length"))
		announces := answer.StatusCode == nethttp.StatusNoContent && (length > 0 || len(answer.TransferEncoding) > 0) // a body that must not come
		return reading{
			Status:   answer.StatusCode,
			Used:     len(data) - r.Buffered(),
			Reusable: !answer.Close && !announces,
		}, true
	}
}
