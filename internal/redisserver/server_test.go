package redisserver

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		name             string
		cfg              Config
		user, pass, host string // host: the name that a certificate must have
		addresses        string
		master           string
	}{
		{name: "alone", cfg: Config{URL: "redis://h:1"}, addresses: "h:1"},
		{name: "socket", cfg: Config{URL: "unix:///a/b"}, addresses: "/a/b"},
		{name: "credentials of the URL", cfg: Config{URL: "redis://u:p@h:1"}, user: "u", pass: "p", addresses: "h:1"},
		{name: "credentials beside the URL", cfg: Config{URL: "redis://u:p@h:1", Username: "v", Password: "q"},
			user: "v", pass: "q", addresses: "h:1"},
		{name: "TLS", cfg: Config{URL: "rediss://h:1", TLS: &tls.Config{}}, host: "h", addresses: "h:1"},
		{name: "TLS with a name", cfg: Config{URL: "rediss://h:1", TLS: &tls.Config{ServerName: "n"}}, host: "n", addresses: "h:1"},
		{name: "cluster", cfg: Config{URL: "redis://a:1?addr=b:2&addr=c:3"}, addresses: "a:1 b:2 c:3"},
		{name: "IPv6", cfg: Config{URL: "redis://[::1]:1?addr=[::2]:2"}, addresses: "[::1]:1 [::2]:2"},
		{name: "sentinels", cfg: Config{URL: "redis://a:1?addr=b:2&master_set=m"}, addresses: "a:1 b:2", master: "m"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := Open(t.Context(), test.cfg)
			if err != nil {
				t.Fatal(err)
			}
			opt := s.Options()
			host := ""
			if opt.TLSConfig != nil {
				host = opt.TLSConfig.ServerName
			}
			got := []string{opt.Username, opt.Password, host, strings.Join(opt.InitAddress, " "), opt.Sentinel.MasterSet}
			want := []string{test.user, test.pass, test.host, test.addresses, test.master}
			if strings.Join(got, "|") != strings.Join(want, "|") {
				t.Errorf("%q, want %q", got, want)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTransientReplies(t *testing.T) {
	for reply, want := range map[string]bool{
		"LOADING Redis is loading the dataset in memory":                                            true,
		"OOM command not allowed when used memory":                                                  true,
		"ERR Error running script (call to f_1): @user_script:1: -READONLY You can't write against": true,
		"ERR max number of clients reached":                                                         true,
		"MOVED 1234 127.0.0.1:7000":                                                                 false,
		"NOAUTH Authentication required.":                                                           true, // as asked for below
		"WRONGTYPE Operation against a key holding the wrong kind of value":                         false,
		"ERR unknown command 'EVALSHA'":                                                             false,
		"":                                                                                          false,
		strings.Repeat("-: ", 1000):                                                                 false,
	} {
		if got := IsTransient(reply, "NOAUTH"); got != want {
			t.Errorf("%q: %t, want %t", reply, got, want)
		}
	}
}

func TestOpenRefusesAWrongURLWithoutItsPassword(t *testing.T) {
	for _, cfg := range []Config{
		{URL: "http://u:secret@h:1"},
		{URL: "redis://u:secret@h:1/x"},
		{URL: "redis://u:secret@h:1", TLS: &tls.Config{}},
		{URL: "redis://u:secret@h:1?db=x"},
		{URL: "redis://u:secret@h:1?adr=b:2"},
		{URL: "redis://u:secret@h:1?addr=b"}, // taken for h:6379 otherwise
		{URL: "redis://u:secret@h:1?addr=b:"},
		{URL: "redis://u:secret@h:1?addr=::1"},
		{URL: "redis://u:secret@h:1?master_set="},
		{URL: "redis://u:secret@h:1/3?addr=b:2"},
		{URL: "redis://u:secret@::1:1"},
	} {
		if _, err := Open(t.Context(), cfg); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", cfg.URL, err)
		}
	}
}

// What is installed decides what auto is: a redis-server, or a valkey-server, and else a Redis in this process.
func TestAutoIsWhatIsInstalled(t *testing.T) {
	for program, want := range map[string]string{"redis-server": Managed, "valkey-server": Managed, "another": ""} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		if got := Resolve(Auto); got != want {
			t.Errorf("where there is %s, auto is %q, want %q", program, got, want)
		}
	}
	if got := Resolve("redis://a:1"); got != "redis://a:1" {
		t.Errorf("a URL is %q", got)
	}
	t.Setenv("PATH", t.TempDir())
	s, err := Open(t.Context(), Config{URL: Auto})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !s.Embedded() {
		t.Errorf("where nothing is installed there is %s", s.Place())
	}
}
