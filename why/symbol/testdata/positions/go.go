//go:build !cgo

package main

func more() {}
