package queue

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"
	"unsafe"

	"github.com/redis/rueidis"
)

const (
	// What is kept of an entry, which anybody may have written: more fields than
	// any good one has, and longer values.
	maxFields = 64
	maxValue  = 512
	maxBulk   = 512 << 20 // bytes: Redis' own limit

	respBuffer = 64 << 10
	replyTime  = 10 * time.Second // a reply has to begin in it, and so has what is next of a long one
)

// A respConn is a connection to a single server for what the library's client does slowly and without bounds: reading many
// small entries that strangers wrote, and writing them. With the library in its place a router takes 1.5 to 1.6 times the CPU
// time an uplink, and a writer 1.4 to 1.7 times (BenchmarkRedis in router). The library knows where the keys of a cluster are,
// so both are here. A respConn speaks RESP2, keeps one piece of memory, and drops what no good entry has. One goroutine at a time.
type respConn struct {
	conn  net.Conn
	close func()
	late  bool   // a part of the reply has come
	renew bool   // of a long reply that goes on it waits for the rest
	buf   []byte // unread: buf[from:to]
	from  int
	to    int
	out   []byte
	// The names and values of the entry that is read.
	text   []byte
	fields []string
}

// errReply is what Redis says instead of a reply.
type errReply string

func (e errReply) Error() string { return string(e) }

func errProtocol(what string, got any) error {
	return fmt.Errorf("not the protocol of Redis: %s %v", what, got)
}

// dial opens a respConn, as the URL says.
func (r *Redis) dial(ctx context.Context) (*respConn, error) {
	ctx, cancel := context.WithTimeout(ctx, replyTime)
	defer cancel()
	opt := r.Options()
	conn, err := opt.DialCtxFn(ctx, opt.InitAddress[0], &opt.Dialer, opt.TLSConfig)
	if err != nil {
		return nil, err
	}
	w := &respConn{conn: conn, buf: make([]byte, respBuffer)}
	w.close = r.keep(conn)
	if err := w.greet(&opt); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *respConn) greet(opt *rueidis.ClientOption) error {
	if opt.Password != "" {
		auth := []string{"AUTH", opt.Username, opt.Password}
		if opt.Username == "" {
			auth = []string{"AUTH", opt.Password}
		}
		if err := w.ok(auth...); err != nil {
			return err
		}
	}
	if opt.SelectDB != 0 {
		return w.ok("SELECT", strconv.Itoa(opt.SelectDB))
	}
	return nil
}

// ok sends a command whose reply is a simple string.
func (w *respConn) ok(args ...string) error {
	if err := w.send(0, args...); err != nil {
		return err
	}
	_, err := w.header('+')
	return err
}

// send writes a command whose reply may take so long, and replyTime.
func (w *respConn) send(patience time.Duration, args ...string) error {
	w.out = w.out[:0]
	w.command(args)
	return w.flush(patience)
}

// command adds a command to what flush writes.
func (w *respConn) command(args []string) {
	w.out = append(w.out, '*')
	w.out = strconv.AppendInt(w.out, int64(len(args)), 10)
	for _, arg := range args {
		w.out = append(w.out, "\r\n$"...)
		w.out = strconv.AppendInt(w.out, int64(len(arg)), 10)
		w.out = append(w.out, "\r\n"...)
		w.out = append(w.out, arg...)
	}
	w.out = append(w.out, "\r\n"...)
}

func (w *respConn) flush(patience time.Duration) error {
	if err := w.conn.SetDeadline(time.Now().Add(patience + replyTime)); err != nil {
		return err
	}
	w.late = false
	_, err := w.conn.Write(w.out)
	return err
}

// interrupt makes what the connection is doing fail; it is for another goroutine.
func (w *respConn) interrupt() { _ = w.conn.SetDeadline(time.Unix(1, 0)) }

// streams reads the reply of an XREADGROUP: for each stream begin, entry for
// each of its entries, and end. The fields live until entry returns.
func (w *respConn) streams(to entryReader) error {
	n, err := w.header('*')
	for ; err == nil && n > 0; n-- {
		err = w.stream(to)
	}
	return err
}

func (w *respConn) stream(to entryReader) error {
	if n, err := w.header('*'); err != nil {
		return err
	} else if n != 2 {
		return errProtocol("a stream has the parts", n)
	}
	var err error
	if w.text, err = w.bulk(w.text[:0]); err != nil {
		return err
	}
	to.begin(string(w.text))
	defer to.end() // what was read before an error is read
	return w.entries(to)
}

// entries reads an array of entries.
func (w *respConn) entries(to entryReader) error {
	n, err := w.header('*')
	for ; err == nil && n > 0; n-- {
		err = w.entry(to)
	}
	return err
}

// entry reads one: an identifier, and an array of names and values. Where a
// claimed entry is gone, Redis 6 says null.
func (w *respConn) entry(to entryReader) error {
	n, err := w.header('*')
	if err != nil || n < 0 {
		return err
	}
	if n != 2 {
		return errProtocol("an entry has the parts", n)
	}
	if w.text, err = w.bulk(w.text[:0]); err != nil {
		return err
	}
	id, ok := parseID(string(w.text))
	if !ok {
		return errProtocol("the entry", strconv.Quote(string(w.text)))
	}
	if n, err = w.header('*'); err != nil {
		return err
	}
	w.fields, w.text = w.fields[:0], w.text[:0]
	for i := range max(0, n) {
		start := len(w.text)
		if w.text, err = w.bulk(w.text); err != nil {
			return err
		}
		if i < 2*maxFields {
			value := w.text[start:]
			w.fields = append(w.fields, unsafe.String(unsafe.SliceData(value), len(value)))
		} else {
			w.text = w.text[:start]
		}
	}
	to.entry(id, w.fields)
	return nil
}

// bulk appends a string to dst: of a long one only the beginning.
func (w *respConn) bulk(dst []byte) ([]byte, error) {
	if value, size := shortBulk(w.buf[w.from:w.to]); size > 0 {
		w.from += size
		return append(dst, value...), nil
	}
	return w.anyBulk(dst)
}

// shortBulk finds a string of up to 99 bytes that begins buf as a whole, and how
// many bytes it takes there; 0: it is something else.
func shortBulk(buf []byte) (value []byte, size int) {
	if len(buf) < 6 || buf[0] != '$' {
		return nil, 0
	}
	n, start := int(buf[1]-'0'), 4
	if digit := buf[2] - '0'; digit <= 9 {
		n, start = 10*n+int(digit), 5
	}
	end := start + n
	if n > 99 || buf[start-1] != '\n' || end+2 > len(buf) {
		return nil, 0
	}
	return buf[start:end], end + 2
}

func (w *respConn) anyBulk(dst []byte) ([]byte, error) {
	n, err := w.header('$')
	if err != nil {
		return dst, err
	}
	keep, drop := min(max(0, n), maxValue), 2+n-min(n, maxValue)
	if err := w.need(keep); err != nil {
		return dst, err
	}
	dst = append(dst, w.buf[w.from:w.from+keep]...)
	w.from += keep
	if n < 0 {
		return dst, nil // null
	}
	return dst, w.skip(drop)
}

func (w *respConn) skip(n int) error {
	for n > 0 {
		if err := w.need(1); err != nil {
			return err
		}
		part := min(n, w.to-w.from)
		w.from += part
		n -= part
	}
	return nil
}

// header reads a line of the wanted kind and its number, which is −1 for null.
func (w *respConn) header(kind byte) (int, error) {
	line, err := w.line()
	if err != nil {
		return 0, err
	}
	switch {
	case len(line) > 1 && line[0] == '-':
		return 0, errReply(line[1:])
	case len(line) < 2 || line[0] != kind && line[0] != '*' && line[0] != '$':
		return 0, errProtocol("the line", strconv.Quote(string(line)))
	case kind == '+':
		return 0, nil
	case line[1] == '-':
		return -1, nil
	case line[0] != kind:
		return 0, errProtocol("the line", strconv.Quote(string(line)))
	}
	n := 0
	for _, c := range line[1:] {
		if c < '0' || c > '9' || n > maxBulk {
			return 0, errProtocol("the line", strconv.Quote(string(line)))
		}
		n = n*10 + int(c-'0')
	}
	return n, nil
}

// line returns the next line without its end. It lives until the next read.
func (w *respConn) line() ([]byte, error) {
	for i := 0; ; {
		for ; i < w.to-w.from; i++ {
			if w.buf[w.from+i] == '\n' {
				line := w.buf[w.from : w.from+max(0, i-1)]
				w.from += i + 1
				return line, nil
			}
		}
		if err := w.need(i + 1); err != nil {
			return nil, err
		}
	}
}

// need makes sure that n unread bytes are in the buffer; n is small compared with it.
func (w *respConn) need(n int) error {
	if w.to-w.from >= n {
		return nil
	}
	if n > len(w.buf)/2 {
		return errProtocol("a line is longer than", n)
	}
	w.to = copy(w.buf, w.buf[w.from:w.to])
	w.from = 0
	for w.to < n {
		if w.renew && w.late { // before its first part the deadline is that of flush
			_ = w.conn.SetReadDeadline(time.Now().Add(replyTime))
		}
		w.late = true
		read, err := w.conn.Read(w.buf[w.to:])
		w.to += read
		if err != nil && w.to < n {
			return err
		}
	}
	return nil
}

// An entryReader takes what a reply brings.
type entryReader interface {
	begin(key string)
	entry(id entryID, fields []string)
	end()
}
