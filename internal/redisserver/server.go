// Package redisserver connects a service to its Redis: the one that a URL names,
// an embedded one, or a private redis-server that it starts.
package redisserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// A Config says where the Redis is.
type Config struct {
	// URL is "" for an embedded Redis, which keeps nothing and is not meant for
	// measuring speed, or embedded://HOST:PORT for one at this address; "managed" for
	// a private redis-server or valkey-server of the PATH, which keeps an append-only
	// file and ends with this process; "auto" for that where one is installed, and else
	// for an embedded one; or a redis://, rediss:// or unix:// address:
	//
	//	redis://user:password@host:port/database
	//	redis://host1:port?addr=host2:port&addr=host3:port   nodes of a cluster
	//	redis://host1:port?addr=host2:port&master_set=NAME   sentinels
	URL string
	// Username and Password, if set, take the place of those of the URL.
	Username, Password string
	// TLS, if set, takes the place of the defaults of a rediss:// address.
	TLS *tls.Config
	// Dir is where a managed Redis keeps its data; "" is a directory that goes
	// with it.
	Dir string
	// Volatile has a managed Redis keep everything in memory only.
	Volatile bool
}

// Managed is the URL of a private redis-server, and Auto that of one where it is installed.
const (
	Managed = "managed"
	Auto    = "auto"
)

// Resolve returns the URL that Auto means here, and any other as it is.
func Resolve(url string) string {
	if url != Auto {
		return url
	}
	if _, err := findServer(); err != nil {
		return ""
	}
	return Managed
}

// dialTimeout bounds the making of a connection.
const dialTimeout = 5 * time.Second

// A Server is a Redis, ours or not. Safe for concurrent use.
type Server struct {
	url      string
	cfg      Config
	embedded bool
	stop     func() error
}

// Open starts the Redis of the configuration if it is ours, and checks the URL if
// it is not: whether a Redis answers there is not asked.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	cfg.URL = Resolve(cfg.URL)
	s := &Server{url: cfg.URL, cfg: cfg, stop: func() error { return nil }}
	address, embedded := strings.CutPrefix(cfg.URL, "embedded://")
	var err error
	switch {
	case embedded || cfg.URL == "":
		s.url, s.stop, err = startEmbedded(address)
		s.embedded = true
	case cfg.URL == Managed:
		s.url, s.stop, err = startManaged(ctx, cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("redisserver: %w", err)
	}
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("redisserver: %w", errors.Join(err, s.stop()))
	}
	return s, nil
}

func (s *Server) validate() error {
	opt, err := rueidis.ParseURL(s.url)
	if err != nil {
		// The parser quotes the URL, and with it the password.
		return fmt.Errorf("URL is %q; expected redis://…, rediss://…, unix://…, with a whole number as the database", s.Place())
	}
	if s.cfg.TLS != nil && opt.TLSConfig == nil {
		return fmt.Errorf("URL is %q, but TLS is configured, which needs rediss://", s.Place())
	}
	return checkQuery(s.url, &opt)
}

// parameters are those of a URL that mean something here.
const parameters = "addr, client_name, db, master_set, max_retries, skip_verify, write_timeout"

// checkQuery says what is wrong with what follows the question mark, where the parser says nothing.
func checkQuery(text string, opt *rueidis.ClientOption) error {
	u, err := url.Parse(text)
	if err != nil {
		return err
	}
	query := u.Query()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(strings.Split(parameters, ", "), name) {
			errs = append(errs, fmt.Errorf("%.40q is in the URL; expected %s", name, parameters))
		}
	}
	for _, addr := range query["addr"] {
		if host, port, err := net.SplitHostPort(addr); err != nil || host == "" || port == "" {
			errs = append(errs, fmt.Errorf("addr in the URL is %.80q; expected HOST:PORT, and [ADDRESS]:PORT of IPv6", addr))
		}
	}
	if query.Has("master_set") && opt.Sentinel.MasterSet == "" {
		errs = append(errs, errors.New("master_set in the URL is empty; expected the name of a master that the sentinels know"))
	}
	if len(opt.InitAddress) > 1 && opt.Sentinel.MasterSet == "" && opt.SelectDB != 0 {
		errs = append(errs, fmt.Errorf("the database in the URL is %d; expected 0, as a cluster has no other", opt.SelectDB))
	}
	if u.Scheme != "unix" && strings.Count(u.Host, ":") > 1 && !strings.HasPrefix(u.Host, "[") {
		errs = append(errs, fmt.Errorf("the host in the URL is %.80q; expected [ADDRESS]:PORT of IPv6", u.Host))
	}
	return errors.Join(errs...)
}

// URL is the address at which other processes of this machine find this Redis.
func (s *Server) URL() string { return s.url }

// Place is the URL without its user and password, for messages.
func (s *Server) Place() string {
	scheme, rest, found := strings.Cut(s.url, "://")
	if !found {
		return s.url
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	return scheme + "://" + rest
}

// Embedded reports whether this Redis lives in this process.
func (s *Server) Embedded() bool { return s.embedded }

// Options are those of a client of this Redis, for the caller to complete. They have a
// DialCtxFn. RESP2 and no client-side cache: an embedded Redis supports neither RESP3
// nor a cache's messages.
func (s *Server) Options() rueidis.ClientOption {
	opt, _ := rueidis.ParseURL(s.url) // valid since Open
	if opt.DialCtxFn == nil {         // no Unix socket
		opt.DialCtxFn = dial
	}
	opt.DisableCache = true
	opt.AlwaysRESP2 = true
	opt.Dialer.Timeout = dialTimeout
	if s.cfg.Username != "" {
		opt.Username = s.cfg.Username
	}
	if s.cfg.Password != "" {
		opt.Password = s.cfg.Password
	}
	if s.cfg.TLS != nil {
		name := opt.TLSConfig.ServerName
		opt.TLSConfig = s.cfg.TLS.Clone()
		if opt.TLSConfig.ServerName == "" {
			opt.TLSConfig.ServerName = name
		}
	}
	if several := len(opt.InitAddress) > 1 || opt.Sentinel.MasterSet != ""; several && opt.TLSConfig != nil && (s.cfg.TLS == nil || s.cfg.TLS.ServerName == "") {
		opt.TLSConfig.ServerName = "" // each node has a name of its own, by which it is dialled
	}
	if opt.Sentinel.MasterSet != "" {
		opt.Sentinel.Username, opt.Sentinel.Password = opt.Username, opt.Password
		opt.Sentinel.TLSConfig = opt.TLSConfig
	}
	return opt
}

// Close ends the Redis if it is ours.
func (s *Server) Close() error {
	if err := s.stop(); err != nil {
		return fmt.Errorf("redisserver: %w", err)
	}
	return nil
}
