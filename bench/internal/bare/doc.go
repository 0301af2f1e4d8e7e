// Package bare is the least that a load generator can do: the yardstick of what
// ours costs beyond it.
package bare
