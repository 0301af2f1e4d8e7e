// Package tabletest starts a private PostgreSQL for tests, which they may stop and
// start again. It does so on Unix only.
package tabletest
