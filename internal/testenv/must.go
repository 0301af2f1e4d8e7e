package testenv

// A T is a test, also one of package rapid.
type T interface {
	Helper()
	Fatal(...any)
}

// Must ends a test in which something has failed that the rest of it needs.
func Must(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
