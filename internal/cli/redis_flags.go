package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"

	"contend/internal/redisserver"
	"contend/protocol/wire"
	"contend/setting"
)

// redisVariable is the variable of the environment in place of --redis.
const redisVariable = "CONTEND_REDIS"

// redisFlags say how to connect to a Redis; each command has its own words for
// where it is.
type redisFlags struct {
	Auth string `flag:"redis-auth" words:"*place* to read the password or user:password of the Redis from: env:NAME or file:PATH"`
	CA   string `flag:"redis-ca-file" words:"*file* with the trusted CA certificates for rediss://, in PEM form"`
	Cert string `flag:"redis-cert-file" words:"*file* with the client certificate for rediss://, in PEM form"`
	Key  string `flag:"redis-key-file" words:"*file* with its key, in PEM form"`
}

// replicaFlags say when uplinks are safe.
type replicaFlags struct {
	Replicas int `flag:"redis-replicas" min:"0" max:"100" words:"*number* of replicas of a Redis that must have uplinks that are written there before they count as written"`
}

func (f *replicaFlags) check(where redisserver.Config) error {
	if f.Replicas > 0 && isOurs(where.URL) {
		return errors.New("--redis-replicas requires the URL of a Redis in --redis: one that contend starts has no replicas")
	}
	return nil
}

// isOurs reports whether a URL is of a Redis that is started here.
func isOurs(url string) bool {
	return url == "" || url == redisserver.Managed || url == redisserver.Auto || strings.HasPrefix(url, "embedded://")
}

// config returns the Redis at a URL, or without one that of the environment, and
// everything that is wrong with the flags.
func (r *redisFlags) config(ctx context.Context, url string, given bool) (redisserver.Config, error) {
	if !given {
		url = os.Getenv(redisVariable)
	}
	c := redisserver.Config{URL: url}
	scheme, _, _ := strings.Cut(url, "://")
	ours := isOurs(url)
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !ours {
		if _, err := redisserver.Open(ctx, c); err != nil { // connects to nothing
			wrong("--redis: %w", errors.New(strings.TrimPrefix(err.Error(), "redisserver: ")))
		}
	}
	if r.Auth != "" {
		secret, err := wire.ReadSecret("--redis-auth", r.Auth, os.LookupEnv)
		switch {
		case err != nil:
			errs = append(errs, err)
		case ours:
			wrong("--redis-auth requires the URL of a Redis in --redis: one that contend starts has no password")
		default:
			c.Username, c.Password = splitSecret(secret)
		}
	}
	if r.CA != "" || r.Cert != "" || r.Key != "" {
		if scheme != "rediss" {
			wrong("--redis-ca-file, --redis-cert-file and --redis-key-file require rediss:// in --redis")
		}
		var err error
		c.TLS, err = r.tls()
		errs = append(errs, err)
	}
	return c, errors.Join(errs...)
}

// tls reads the files as a target's are read.
func (r *redisFlags) tls() (config *tls.Config, err error) {
	files := wire.Common{CAFile: r.CA, CertFile: r.Cert, KeyFile: r.Key}
	material, readErr := files.Read(nil)
	if err = errors.Join(files.Check(nil), readErr); err == nil {
		config, err = material.TLS.Config("")
	}
	var errs []error
	for _, m := range setting.Mistakes(err) {
		m.Setting.Flag = "redis-" + m.Setting.Flag
		errs = append(errs, m)
	}
	return config, setting.FlagErrors(errors.Join(errs...))
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
