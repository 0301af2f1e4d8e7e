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
	"contend/protocol/wire"
)

// redisVariable is the variable of the environment in place of --redis.
const redisVariable = "CONTEND_REDIS"

const redisDefault = "managed: a private redis-server (default $" + redisVariable + "; none: embedded, which keeps nothing)"

// redisFlags say where a Redis is.
type redisFlags struct{ url, auth, ca, cert, key string }

func (r *redisFlags) flags(cmd *cobra.Command, usage string) {
	f := cmd.Flags()
	f.StringVar(&r.url, "redis", "", usage)
	f.StringVar(&r.auth, "redis-auth", "", "where password or user:password of the Redis stands: env:NAME or file:PATH (`place`)")
	f.StringVar(&r.ca, "redis-ca-file", "", "`file` with the authorities trusted for rediss:// in PEM form")
	f.StringVar(&r.cert, "redis-cert-file", "", "`file` with our certificate for rediss:// in PEM form")
	f.StringVar(&r.key, "redis-key-file", "", "`file` with its key in PEM form")
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
		secret, err := wire.ReadSecret("--redis-auth", r.auth, os.LookupEnv)
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

// counterFlags say where a shared counter is: in which Redis, and under which name.
type counterFlags struct {
	redisFlags
	name    string
	timeout time.Duration
}

func (c *counterFlags) flags(cmd *cobra.Command) {
	c.redisFlags.flags(cmd, "`URL` of the Redis of a redis- guard; "+redisDefault)
	cmd.Flags().StringVar(&c.name, "redis-counter", "contend:counter", "`name` of the counter in Redis")
	cmd.Flags().DurationVar(&c.timeout, "redis-timeout", time.Second, "how long one operation of the Redis may take")
}

func counterFlagNames() []string {
	return []string{"redis", "redis-auth", "redis-ca-file", "redis-cert-file", "redis-key-file", "redis-counter", "redis-timeout"}
}

// given returns those of the flags that are set.
func (c *counterFlags) given(cmd *cobra.Command) []string {
	var given []string
	for _, name := range counterFlagNames() {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	return given
}

// config is as that of redisFlags.
func (c *counterFlags) config(cmd *cobra.Command) (redisserver.Config, error) {
	config, err := c.redisFlags.config(cmd)
	errs := []error{err}
	if n := len(c.name); n < 1 || n > 128 || strings.ContainsFunc(c.name, func(c rune) bool { return c <= ' ' || c > '~' || c == '{' || c == '}' }) {
		errs = append(errs, fmt.Errorf("--redis-counter is %q, allowed are 1 to 128 printable ASCII characters but spaces and braces", c.name))
	}
	if c.timeout < time.Millisecond || c.timeout > time.Minute {
		errs = append(errs, fmt.Errorf("--redis-timeout is %v, allowed are 1ms to 1m0s", c.timeout))
	}
	return config, errors.Join(errs...)
}

// place is where a Redis is, for messages and the log.
func place(s *redisserver.Server) string {
	if s.Embedded() {
		return "embedded"
	}
	return s.Place()
}
