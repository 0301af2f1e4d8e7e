package secret

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestHide(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		// Header fields, to the end of the line or of the quotes.
		{"Authorization: Bearer s3cret-t0ken", "Authorization: ***"},
		{"curl -H 'authorization: Basic dTpw' -H 'Accept: */*'", "curl -H 'authorization: ***' -H 'Accept: */*'"},
		{"Cookie: a=b; c=d\nAccept: x", "Cookie: ***\nAccept: x"},
		{`"Set-Cookie: id=7"`, `"Set-Cookie: ***"`},
		{"X-Api-Key: abc", "X-Api-Key: ***"},
		{"X-Auth-Token: a b", "X-Auth-Token: *** b"}, // in prose one word of it
		{"Proxy-Authorization: x", "Proxy-Authorization: ***"},
		{"X-Hub-Signature-256: x", "X-Hub-Signature-256: ***"},
		{"dbpass=x&user_pwd=y&bypass=1&code=2", "dbpass=***&user_pwd=***&bypass=1&code=2"},
		{"headers: { Authorization: `Bearer abcdef` }", "headers: { Authorization: `***` }"},
		// URLs.
		{"http://user:pass@host/", "http://user:***@host/"},
		{"redis://:pass@host:6379/0", "redis://:***@host:6379/0"},
		{"nats://t0ken@host:4222", "nats://***@host:4222"},
		{"http://h/?a=1&token=abc&b=2#x", "http://h/?a=1&token=***&b=2#x"},
		{"http://h/?access_token=abc: refused", "http://h/?access_token=***: refused"},
		{"GET /x?sig=a%2Bb, 3 times", "GET /x?sig=***, 3 times"},
		{"?key=k&api_key=a&apikey=b&password=c&client_secret=d", "?key=***&api_key=***&apikey=***&password=***&client_secret=***"},
		{"?X-Amz-Signature=0a&X-Amz-Date=1", "?X-Amz-Signature=***&X-Amz-Date=1"},
		// Command lines.
		{"TOKEN=x ./server --password y -c 3", "TOKEN=*** ./server --password *** -c 3"},
		{"PGPASSWORD='a b' ./server --token=z", "PGPASSWORD='***' ./server --token=***"},
		{"redis-server --requirepass foo --port 1", "redis-server --requirepass *** --port 1"},
		{"./server --key-file k.pem --ca-cert c.pem", "./server --key-file k.pem --ca-cert c.pem"},
		// Bodies.
		{`{"user": "a", "password": "x \" y", "pin": 1}`, `{"user": "a", "password": "***", "pin": 1}`},
		{`{"api_key":12345}`, `{"api_key":***}`},
		{`"{\"token\":\"abc\",\"n\":1}"`, `"{\"token\":\"***\",\"n\":1}"`},
		{"user=a&pass=b", "user=a&pass=***"},
		{`{"accessToken": ["abc", "def"], "a": ["b"]}`, `{"accessToken": [***], "a": ["b"]}`},
		{"<user>a</user><password>x y</password>", "<user>a</user><password>***</password>"},
		{`<o:Password Type="T">x</o:Password><Key>a.jpg</Key><token/>b`, `<o:Password Type="T">***</o:Password><Key>a.jpg</Key><token/>b`},
		{"<token><![CDATA[abc]]></token> <password>$PASSWORD</password> password > 3", "<token><![CDATA[***]]></token> <password>$PASSWORD</password> password > 3"},
		// URLs in URLs, and comparisons.
		{"?to=http%3A%2F%2Fh%2F%3Ftoken%3Da%2Bb%26n%3D1&m=2", "?to=http%3A%2F%2Fh%2F%3Ftoken%3D***%26n%3D1&m=2"},
		{"check failed: header X-Api-Key == abc: abd", "check failed: header X-Api-Key == ***: abd"},
		{`header Set-Cookie == "a=b; c"`, `header Set-Cookie == "***"`},
		{"if (token == expected) header x == 2, n%3D1", "if (token == expected) header x == 2, n%3D1"},
		// By their form.
		{"it is eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl, expired", "it is ***, expired"},
		{"Bearer abcdef123", "Bearer ***"},
		{"ghp_0123456789abcdef and sk-0123456789abcdef and AKIAIOSFODNN7EXAMPLE", "*** and *** and ***"},
		{"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", "***"},
		// References, and values that are no secrets.
		{"-H 'Authorization: $AUTHORIZATION'", "-H 'Authorization: $AUTHORIZATION'"},
		{"Authorization: Bearer {{token}}", "Authorization: Bearer {{token}}"},
		{"--bearer env:TOKEN --basic-auth file:x", "--bearer env:TOKEN --basic-auth file:x"},
		{"unknown flag --token (see a --help)", "unknown flag --token (see a --help)"},
		{"--basic-auth is set beside --bearer", "--basic-auth is set beside --bearer"},
		{`{"max_tokens": 100, "keys": 2}`, `{"max_tokens": 100, "keys": 2}`},
		{"unexpected token: <", "unexpected token: <"},
		{"the key: of a map, monkey=1, primary_key=2", "the key: of a map, monkey=1, primary_key=2"},
		{"--bearer cannot be read, bearer 0a1b2c3", "--bearer cannot be read, bearer ***"},
		{"a bearer token and Basic authentication", "a bearer token and Basic authentication"},
		{"http://localhost:8080/a@b", "http://localhost:8080/a@b"},
		{"Authorization: ***", "Authorization: ***"},
	} {
		var none *Book
		got := none.Hide(tt.text)
		if got != tt.want {
			t.Errorf("%q is shown as %q, want %q", tt.text, got, tt.want)
		}
		if again := none.Hide(got); again != got {
			t.Errorf("%q is shown as %q when it is hidden again", got, again)
		}
	}
}

// Secrets of an input are hidden wherever they come back.
func TestHideKnown(t *testing.T) {
	b := new(Book)
	b.Learn("X-Api-Key: s3cret/+key", "http://h/?token=a%2Fbcdef", `{"password": "quo\"ted"}`, "sid: hunter2", "Authorization: Basic dXNlcjpzM2NyZXQtcGFzcw==",
		"Cookie: a=first-cookie; b=second-cookie", "pin: 1234567", "--password abc", "X-Auth-Token without-colon", "token ./without-hyphen")
	b.LearnPair("A:DB_PASSWORD=p;a&s s,word")
	b.LearnPair("DESKTOP_SESSION=ubuntu")
	b.LearnPair("PROXY=http://a:proxypassword@b/")
	for _, tt := range []struct{ text, want string }{
		{"p;a&s s,word of ubuntu, proxypassword", "*** of ubuntu, ***"},
		{"you sent s3cret/+key.", "you sent ***."},
		{"?x=s3cret%2F%2Bkey", "?x=***"},
		{"a/bcdef, a%2Fbcdef", "***, ***"},
		{`quo"ted quo\"ted`, "*** ***"},
		{"hunter2 is not in ahunter22", "*** is not in ahunter22"}, // 7 bytes: as a word alone
		{"user s3cret-pass", "user ***"},
		{"first-cookie and second-cookie", "*** and ***"},
		{"pin 1234567", "pin 1234567"}, // not a secret by its name
		{"abc", "abc"},                 // 3 bytes
		{"without-colon ./without-hyphen", "*** ./without-hyphen"},
		{"it was cut off: s3cret/…", "it was cut off: ***…"},
	} {
		if got := b.Hide(tt.text); got != tt.want {
			t.Errorf("%q is shown as %q, want %q", tt.text, got, tt.want)
		}
	}
	b.Show()
	if got := b.Hide("Authorization: s3cret/+key"); got != "Authorization: s3cret/+key" {
		t.Errorf("where all is to be shown this is: %q", got)
	}
}

func TestSplit(t *testing.T) {
	b := new(Book)
	for _, tt := range []struct{ word, want string }{
		{"Authorization: Bearer abcdef", "Authorization: |$AUTHORIZATION"},
		{"auth: a b", "auth: |$AUTH"}, // a field, as a word of a command line
		{"--header=x-token: abd", "--header=x-token: |$X_TOKEN"},
		{"http://h/?token=abc&n=1", "http://h/?token=|$TOKEN|&n=1"},
		{"TOKEN=abc ./a --password y", "TOKEN=|$TOKEN| ./a --password |$PASSWORD"},
		{"TOKEN=xyz ./b", "TOKEN=|$TOKEN_2| ./b"}, // another value
		{"http://h/", "http://h/"},
	} {
		var parts []string
		for _, p := range b.Split(tt.word) {
			if p.Variable != "" {
				parts = append(parts, "$"+p.Variable)
			} else {
				parts = append(parts, p.Text)
			}
		}
		if got := strings.Join(parts, "|"); got != tt.want {
			t.Errorf("%q is %q, want %q", tt.word, got, tt.want)
		}
	}
}

func TestVariables(t *testing.T) {
	for hidden, want := range map[string]string{
		"http://h/?token=***&n=1&api_key=***": "http://h/?token=$TOKEN&n=1&api_key=$API_KEY",
		"KEY=*** ./a --password *** -c 1":     "KEY=$KEY ./a --password $PASSWORD -c 1",
		"http://h/***":                        "http://h/$SECRET",
		"http://h/":                           "http://h/",
	} {
		if got := Variables(hidden); got != want {
			t.Errorf("%q is %q, want %q", hidden, got, want)
		}
	}
}

// shown has a text in each place that In looks into.
type shown struct {
	Text   string
	List   []string
	Table  map[string]*shown
	Any    any
	Kind   kind
	Hidden string `json:"-"`
	Same   *[]int
	own    string
}

type kind string

func TestIn(t *testing.T) {
	same := []int{1}
	of := func() *shown {
		return &shown{Text: "key=abc", List: []string{"x", "key=abc"}, Table: map[string]*shown{"key=abc": {Text: "key=abc"}, "key=xyz": {Text: "b"}},
			Any: "key=abc", Kind: "key=abc", Hidden: "key=abc", Same: &same, own: "own"}
	}
	from := of()
	got := In(from, (*Book)(nil).Hide)
	keys := strings.Join(slices.Sorted(maps.Keys(got.Table)), " ")
	if got.Text != "key=***" || got.List[1] != "key=***" || got.Any != "key=***" || got.Hidden != "key=***" || got.Table["key=***"].Text != "key=***" || keys != "key=*** key=*** (2)" {
		t.Errorf("it is %+v, with the keys %s", got, keys)
	}
	words := In([]string{"started", "-----BEGIN PRIVATE KEY-----", "abc", "-----END PRIVATE KEY-----", "ended"}, (*Book)(nil).Hide)
	if want := []string{"started", "***", "ended"}; !slices.Equal(words, want) {
		t.Errorf("lines with a key are %q, want %q", words, want)
	}
	if got.Kind != "key=abc" || got.Same != &same || got.own != "own" {
		t.Errorf("what is no text has changed: %+v", got)
	}
	if from.Text != "key=abc" || from.List[1] != "key=abc" || from.Table["key=abc"].Text != "key=abc" {
		t.Errorf("the original has changed: %+v", from)
	}
}
