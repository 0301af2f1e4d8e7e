// Package wire holds what all network targets share, whatever protocol they use:
// URLs, whom to trust, who shares a connection, how many event loops there are.
package wire
