// Package stat summarises and compares repeated trials. It is pure: no I/O,
// no clock, no goroutines. Every result carries warnings, which are not errors:
// a figure with a warning was computed but must not be believed without reading it.
package stat

// Warning says why a figure must be read with care. Code is stable and
// machine-readable (snake_case); Text is one sentence for people.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}
