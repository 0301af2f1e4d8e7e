package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"contend/internal/redisserver"
	"contend/target"
)

// redisVariable is the variable of the environment in place of --redis.
const redisVariable = "CONTEND_REDIS"

// redisFlags say where the Redis of a shared counter is.
type redisFlags struct {
	url, auth, ca, cert, key, counter string
	timeout                           time.Duration
}

func (r *redisFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.url, "redis", "", "`URL` of the Redis of a redis- guard; managed: a private redis-server (default $"+redisVariable+
		"; none: embedded, which keeps nothing)")
	f.StringVar(&r.auth, "redis-auth", "", "where password or user:password of the Redis stands: env:NAME or file:PATH (`place`)")
	f.StringVar(&r.ca, "redis-ca-file", "", "`file` with the authorities trusted for rediss:// in PEM form")
	f.StringVar(&r.cert, "redis-cert-file", "", "`file` with our certificate for rediss:// in PEM form")
	f.StringVar(&r.key, "redis-key-file", "", "`file` with its key in PEM form")
	f.StringVar(&r.counter, "redis-counter", "contend:counter", "`name` of the counter in Redis")
	f.DurationVar(&r.timeout, "redis-timeout", time.Second, "how long one operation of the Redis may take")
}

func redisNames() []string {
	return []string{"redis", "redis-auth", "redis-ca-file", "redis-cert-file", "redis-key-file", "redis-counter", "redis-timeout"}
}

// given returns the flags of the Redis that are set.
func (r *redisFlags) given(cmd *cobra.Command) []string {
	var given []string
	for _, name := range redisNames() {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	return given
}

// config returns the Redis that the flags and the environment describe, and
// everything that is wrong with them.
func (r *redisFlags) config(cmd *cobra.Command) (redisserver.Config, error) {
	url := r.url
	if !cmd.Flags().Changed("redis") {
		url = os.Getenv(redisVariable)
	}
	c := redisserver.Config{URL: url}
	scheme, _, _ := strings.Cut(url, "://")
	ours := url == "" || url == redisserver.Managed || scheme == "embedded"
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !ours {
		if _, err := redisserver.Open(cmd.Context(), c); err != nil { // connects to nothing
			wrong("--redis: %w", errors.New(strings.TrimPrefix(err.Error(), "redisserver: ")))
		}
	}
	if r.auth != "" {
		secret, err := target.ReadSecret("--redis-auth", r.auth, os.LookupEnv)
		switch {
		case err != nil:
			errs = append(errs, err)
		case ours:
			wrong("--redis-auth is given, but a Redis of our own has no password: it needs --redis")
		default:
			c.Username, c.Password = splitSecret(secret)
		}
	}
	if r.ca != "" || r.cert != "" || r.key != "" {
		if scheme != "rediss" {
			wrong("--redis-ca-file, --redis-cert-file and --redis-key-file need rediss:// in --redis")
		}
		var err error
		c.TLS, err = r.tls()
		errs = append(errs, err)
	}
	if n := len(r.counter); n < 1 || n > 128 || strings.ContainsFunc(r.counter, func(c rune) bool { return c <= ' ' || c > '~' || c == '{' || c == '}' }) {
		wrong("--redis-counter is %q, allowed are 1 to 128 printable ASCII characters but spaces and braces", r.counter)
	}
	if r.timeout < time.Millisecond || r.timeout > time.Minute {
		wrong("--redis-timeout is %v, allowed are 1ms to 1m0s", r.timeout)
	}
	return c, errors.Join(errs...)
}

func (r *redisFlags) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	var errs []error
	if r.ca != "" {
		pem, err := os.ReadFile(r.ca)
		c.RootCAs = x509.NewCertPool()
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("--redis-ca-file: %w", err))
		case !c.RootCAs.AppendCertsFromPEM(pem):
			errs = append(errs, fmt.Errorf("--redis-ca-file: %s holds no certificate in PEM form", r.ca))
		}
	}
	switch {
	case (r.cert == "") != (r.key == ""):
		errs = append(errs, errors.New("--redis-cert-file and --redis-key-file belong together"))
	case r.cert != "":
		pair, err := tls.LoadX509KeyPair(r.cert, r.key)
		if err != nil {
			errs = append(errs, fmt.Errorf("--redis-cert-file and --redis-key-file: %w", err))
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, errors.Join(errs...)
}

// splitSecret splits user:password. A text without a colon is the password of
// Redis' default user.
func splitSecret(secret string) (user, password string) {
	user, password, found := strings.Cut(secret, ":")
	if !found {
		return "", secret
	}
	return user, password
}

// place is where a Redis is, for messages and the log.
func place(s *redisserver.Server) string {
	if s.Embedded() {
		return "embedded"
	}
	return s.Place()
}
