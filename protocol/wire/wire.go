// Package wire is what the targets with a network have in common, whatever they
// speak: URLs, whom to trust, who shares a connection, how many event loops there
// are.
package wire
