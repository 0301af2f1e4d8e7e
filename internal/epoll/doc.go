// Package epoll waits for many sockets from one thread and moves their bytes
// without involving Go's scheduler. It requires Linux.
package epoll
