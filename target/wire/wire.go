// Package wire is what the targets with a network have in common, whatever they
// speak: whom to trust, who shares a connection, how many event loops there are.
//
// Its errors name the field and no package: a protocol's package puts its own
// name before them.
package wire
