// Package wire holds what all network targets share, whatever protocol they use:
// URLs, trusted certificates, sharing of connections, the number of event loops.
package wire
