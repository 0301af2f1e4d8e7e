package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

func parseTokens(t *testing.T, file string) *Tokens {
	t.Helper()
	tokens, err := ParseTokens(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func TestAuthenticate(t *testing.T) {
	tokens := parseTokens(t, `
# two tokens of one customer while they are exchanged
lamps  first-token
lamps  second.token~+/==   2100-01-01T00:00:00Z  # as long as needed
meters third 2020-01-01T00:00:00+02:00
`)
	tests := []struct {
		name, header, query string
		want                string // "": refused
	}{
		{"header", "Bearer first-token", "", "lamps"},
		{"second token", "Bearer second.token~+/==", "", "lamps"},
		{"query", "", "access_token=first-token", "lamps"},
		{"query among others", "", "a=b&access_token=first-token&c", "lamps"},
		{"query, escaped", "", "access_token=second.token~%2B/%3D%3D", "lamps"},
		{"scheme in lower case", "bearer first-token", "", "lamps"},
		{"spaces", "Bearer   first-token ", "", "lamps"},
		{"both, the header counts", "Bearer first-token", "access_token=wrong", "lamps"},
		{"both, the header is wrong", "Bearer wrong", "access_token=first-token", ""},
		{"another scheme", "Basic first-token", "access_token=first-token", ""},
		{"the first of two parameters counts", "", "access_token=wrong&access_token=first-token", ""},
		{"nothing", "", "", ""},
		{"no token", "Bearer", "", ""},
		{"empty token", "Bearer ", "", ""},
		{"empty parameter", "", "access_token=", ""},
		{"bad escape", "", "access_token=%zz", ""},
		{"longer", "Bearer first-tokenx", "", ""},
		{"shorter", "Bearer first-toke", "", ""},
		{"another case", "Bearer First-token", "", ""},
		{"the customer's name", "Bearer lamps", "", ""},
		{"expired", "Bearer third", "", ""},
		{"expired, query", "", "access_token=third", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/?"+tt.query, nil)
			if tt.header != "" {
				r.Header.Set("Authorization", tt.header)
			}
			got, ok := tokens.Authenticate(r)
			if got != tt.want || ok != (tt.want != "") {
				t.Errorf("got %q, %v, want %q", got, ok, tt.want)
			}
		})
	}
}

func TestZeroTokensKnowNobody(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer ")
	if customer, ok := new(Tokens).Authenticate(r); ok {
		t.Errorf("authenticated as %q", customer)
	}
}

func TestDemoTokens(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/?access_token="+DemoToken, nil)
	if customer, ok := DemoTokens().Authenticate(r); customer != "demo" || !ok {
		t.Errorf("got %q, %v", customer, ok)
	}
}

// A token is good before its expiry, and refused after it.
func TestTokenExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expires := time.Now().Add(time.Hour)
		tokens := parseTokens(t, "lamps secret "+expires.Format(time.RFC3339))
		r := httptest.NewRequest(http.MethodGet, "/?access_token=secret", nil)
		for _, tt := range []struct {
			wait time.Duration
			want bool
		}{{0, true}, {time.Hour - 1, true}, {1, false}, {time.Hour, false}} {
			time.Sleep(tt.wait)
			if _, ok := tokens.Authenticate(r); ok != tt.want {
				t.Errorf("%s before its end: %v, want %v", time.Until(expires), ok, tt.want)
			}
		}
	})
}

// The connections that a token opened end with it: at its expiry, or when a file
// without it is read. A token that stays goes on, also with another expiry, and
// mistakes change nothing.
func TestTokenEnds(t *testing.T) {
	at := func(d time.Duration) string { return " " + time.Now().Add(d).Format(time.RFC3339) + "\n" }
	for _, tt := range []struct {
		name, file string // that is read an hour after the first one
		ends       bool
		after      time.Duration // since then
	}{
		{"expires", "", true, time.Hour},
		{"the same file", "lamps secret 2000-01-01T02:00:00Z", true, time.Hour},
		{"withdrawn", "meters other\n", true, 0},
		{"all withdrawn", "# none\n", true, 0},
		{"of another customer", "meters secret\n", true, 0},
		{"expires later", "lamps secret 2000-01-01T05:00:00Z", true, 4 * time.Hour},
		{"expires sooner", "lamps secret 2000-01-01T01:00:01Z", true, time.Second},
		{"has expired", "lamps secret 2000-01-01T00:30:00Z", true, 0},
		{"expires no more", "meters other\nlamps secret\n", false, 100 * time.Hour},
		{"mistakes", "lamps\nmeters other", true, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the fake time begins at 2000-01-01T00:00:00Z
				tokens := parseTokens(t, "lamps secret"+at(2*time.Hour))
				r := httptest.NewRequest(http.MethodGet, "/?access_token=secret", nil)
				customer, valid, ok := tokens.Admit(r)
				if customer != "lamps" || !ok {
					t.Fatal(customer, ok)
				}
				time.Sleep(time.Hour)
				if tt.file != "" {
					if err := tokens.Reread(strings.NewReader(tt.file)); (err != nil) != (tt.name == "mistakes") {
						t.Fatal(err)
					}
				}
				if tt.after > 0 {
					time.Sleep(tt.after - 1)
					synctest.Wait()
					if _, _, ok := tokens.Admit(r); valid.Err() != nil || !ok {
						t.Errorf("over too early: %v, admitted %v", valid.Err(), ok)
					}
				}
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				if (valid.Err() != nil) != tt.ends {
					t.Errorf("over: %v, want %v", valid.Err(), tt.ends)
				}
			})
		})
	}
}

// A rewritten file counts when two looks found the same text. Until then, and while it
// is missing or has mistakes, the earlier tokens are good.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, first := filepath.Join(t.TempDir(), "tokens"), "lamps one\nmeters two\n"
		tokens := parseTokens(t, first)
		write := func(text string) {
			t.Helper()
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		good := func(what, want string) {
			t.Helper()
			var got []string
			for _, token := range []string{"one", "two", "three"} {
				if _, ok := tokens.Authenticate(httptest.NewRequest(http.MethodGet, "/?access_token="+token, nil)); ok {
					got = append(got, token)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: %q are good, want %q", what, got, want)
			}
		}
		write(first)
		ctx, cancel := context.WithCancel(t.Context())
		log := new(bytes.Buffer)
		var following sync.WaitGroup
		following.Go(func() { tokens.Follow(ctx, file, first, slog.New(slog.NewTextHandler(log, nil))) })
		time.Sleep(followEvery / 2)
		write("lamps one\n")
		time.Sleep(followEvery)
		good("half written", "one two")
		write("lamps one\nmeters three\n")
		time.Sleep(followEvery)
		good("once", "one two")
		time.Sleep(followEvery)
		good("twice", "one three")
		write("lamps\n")
		time.Sleep(5 * followEvery)
		good("mistakes", "one three")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * followEvery)
		good("away", "one three")
		write("")
		time.Sleep(2 * followEvery)
		good("empty", "")
		cancel()
		following.Wait()
		for what, want := range map[string]int{"read again": 2, "has mistakes": 1, "cannot be read": 1} {
			if n := strings.Count(log.String(), what); n != want {
				t.Errorf("the log has %q %d times, want %d: %s", what, n, want, log)
			}
		}
	})
}

// All mistakes come at once, with their lines, and without a token.
func TestTokenFileMistakes(t *testing.T) {
	tests := []struct {
		name, file string
		want       []string
	}{
		{"empty", "", []string{"no token in it"}},
		{"only comments", "# nothing\n\n", []string{"no token in it"}},
		{"several", "lamps\nlamps good-secret\nla*mps s(cret tomorrow\nmeters good-secret\na b c d\n", []string{
			"line 1: 1 words; expected customer token [expires]",
			`line 3: customer is "la*mps"; expected 1 to 64`,
			"line 3: token is of another form; expected A-Z",
			`line 3: expires is "tomorrow"; expected a time such as 2030-12-31T23:59:59Z`,
			"line 4: token: the same as in line 2",
			"line 5: 4 words",
		}},
		{"long customer", strings.Repeat("x", 65) + " secret", []string{"line 1: customer"}},
		{"equals inside", "lamps se=cret", []string{"line 1: token is of another form; expected"}},
		{"expires without zone", "lamps secret 2030-01-01T00:00:00", []string{"line 1: expires"}},
		{"line without end", "lamps one\n" + strings.Repeat("secret", 20000), []string{"line 2: longer than 64 KiB"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tokens, err := ParseTokens(strings.NewReader(tt.file))
			if err == nil {
				t.Fatal("no error")
			}
			if tokens != nil {
				t.Error("tokens in spite of the error")
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(tt.want) {
				t.Fatalf("got %q, want %d mistakes", lines, len(tt.want))
			}
			for i, line := range lines {
				if !strings.HasPrefix(line, "token file") || !strings.Contains(line, tt.want[i]) {
					t.Errorf("got %q, want %q in it", line, tt.want[i])
				}
			}
			if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "s(cret") {
				t.Errorf("the error has a token in it: %v", err)
			}
		})
	}
}

func TestTokenFileUnreadable(t *testing.T) {
	broken := iotest.ErrReader(errors.New("no such disk"))
	_, err := ParseTokens(io.MultiReader(strings.NewReader("lamps one\nmeters\n"), broken))
	want := "token file, line 2: 1 words; expected customer token [expires]\ntoken file, line 3: no such disk"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func FuzzParseTokens(f *testing.F) {
	f.Add("lamps secret\nmeters other 2030-01-01T00:00:00Z # until then\n", "secret")
	f.Add("lamps secret\r\nlamps secret", "")
	f.Add("# nothing", "nothing")
	f.Fuzz(func(t *testing.T, file, token string) {
		tokens, err := ParseTokens(strings.NewReader(file))
		if (err == nil) != (tokens != nil) {
			t.Fatalf("tokens %v with error %v", tokens, err)
		}
		if err != nil {
			return
		}
		token = strings.TrimSpace(token)
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		customer, ok := tokens.Authenticate(r)
		if ok && !(strings.Contains(file, customer) && strings.Contains(file, token)) {
			t.Errorf("token %q is %q's, which is not in the file %q", token, customer, file)
		}
	})
}
