//go:build !race

package usl_test

const raceEnabled = false
