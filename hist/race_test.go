//go:build race

package hist_test

const raceEnabled = true
