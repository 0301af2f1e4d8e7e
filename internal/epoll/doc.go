// Package epoll waits for many sockets from one thread, and moves their bytes
// without telling Go's scheduler. It needs Linux.
package epoll
