package faults_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// An httpDoor speaks HTTP/1.1 over one connection. It sends a request once,
// which a library's client does not promise.
type httpDoor struct {
	addr, path string
	conn       net.Conn
	in         *bufio.Reader
	out        []byte
}

func (d *httpDoor) increment(ctx context.Context, n int32, id string) answer {
	if n != 1 {
		return broken("HTTP adds 1, not %d", n)
	}
	if err := d.dial(ctx); err != nil {
		return notDone("dial: %w", err)
	}
	code, header, body, err := d.exchange(ctx, id)
	if err != nil {
		d.close()
		if isTimeout(err) {
			return broken("%w: %w", errNoAnswer, err)
		}
		return unknown("the connection broke: %w", err)
	}
	return judgeHTTP(code, header, body)
}

func isTimeout(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}

// dial connects unless there is a connection.
func (d *httpDoor) dial(ctx context.Context) error {
	if d.conn != nil {
		return nil
	}
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", d.addr)
	if err != nil {
		return err
	}
	d.conn, d.in = conn, bufio.NewReaderSize(conn, 1<<10)
	return nil
}

func (d *httpDoor) exchange(ctx context.Context, id string) (int, http.Header, []byte, error) {
	_ = d.conn.SetDeadline(deadline(ctx))
	d.out = fmt.Appendf(d.out[:0], "GET %s HTTP/1.1\r\nHost: %s\r\n", d.path, d.addr)
	if id != "" {
		d.out = fmt.Appendf(d.out, "Idempotency-Key: %s\r\n", id)
	}
	d.out = append(d.out, "\r\n"...)
	if _, err := d.conn.Write(d.out); err != nil {
		return 0, nil, nil, err
	}
	resp, err := http.ReadResponse(d.in, nil)
	if err != nil {
		return 0, nil, nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	_ = resp.Body.Close()
	if err == nil && resp.Close {
		d.close()
	}
	return resp.StatusCode, resp.Header, body, err
}

func deadline(ctx context.Context) time.Time {
	end := time.Now().Add(patience)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		return d
	}
	return end
}

func (d *httpDoor) close() {
	if d.conn != nil {
		_ = d.conn.Close()
		d.conn = nil
	}
}

// judgeHTTP reads an answer by the contract of the service.
func judgeHTTP(code int, header http.Header, body []byte) answer {
	switch code {
	case http.StatusOK:
		return judgeStatus(body)
	case http.StatusServiceUnavailable:
		if header.Get("Retry-After") == "" {
			return broken("503 without Retry-After: %s", body)
		}
		return notDone("503: %s", body)
	case http.StatusGatewayTimeout:
		var said struct {
			Error         string `json:"error"`
			Indeterminate bool   `json:"indeterminate"`
		}
		if err := json.Unmarshal(body, &said); err != nil || !said.Indeterminate || said.Error == "" {
			return broken("504 that does not say it is indeterminate: %s", body)
		}
		return unknown("504: %s", said.Error)
	}
	return broken("status code %d: %s", code, body)
}

// judgeStatus checks that the three fields are those of one change.
func judgeStatus(body []byte) answer {
	var said struct {
		Counter     int64     `json:"counter"`
		Status      bool      `json:"status"`
		LastChanged time.Time `json:"lastChanged"`
	}
	in := json.NewDecoder(bytes.NewReader(body))
	in.DisallowUnknownFields()
	switch err := in.Decode(&said); {
	case err != nil:
		return broken("%s: %w", body, err)
	case said.Status != (said.Counter%2 != 0):
		return broken("status and counter are not of one change: %s", body)
	case time.Since(said.LastChanged).Abs() > time.Hour:
		return broken("lastChanged is not now: %s", body)
	}
	return answer{kind: acknowledged, value: said.Counter}
}

// get fetches a page over a connection of its own.
func get(ctx context.Context, addr, path string) (int, []byte, error) {
	d := &httpDoor{addr: addr, path: path}
	defer d.close()
	if err := d.dial(ctx); err != nil {
		return 0, nil, err
	}
	code, _, body, err := d.exchange(ctx, "")
	return code, body, err
}
