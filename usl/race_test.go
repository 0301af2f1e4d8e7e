//go:build race

package usl_test

const raceEnabled = true
