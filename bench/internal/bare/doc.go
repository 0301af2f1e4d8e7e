// Package bare is a minimal load generator, the yardstick for the overhead of
// contend.
package bare
