//go:build !unix

package router

func maxFiles() int { return 0 }
