//go:build !unix

package table

func backends() []backend { return []backend{sqliteBackend} }
