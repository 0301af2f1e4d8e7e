//go:build !unix

package http

type rawExchange struct{}

func (*rawExchange) init() {}

func (l *keptConn) exchangeRaw(request, buf []byte) (int, error) { return l.writeRead(request, buf) }

// readable is not known here without waiting.
func (*keptConn) readable(func([]byte) bool) bool { return false }
