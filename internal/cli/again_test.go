package cli

import (
	"testing"
	"time"
)

func TestAgain(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"sweep", "http://a/"}, "contend sweep -d 3m http://a/"},
		{[]string{"sweep", "-d", "5s", "--levels", "1,2", "http://a/"}, "contend sweep -d 3m --levels 1,2 http://a/"},
		{[]string{"sweep", "-d5s", "http://a/?b&c"}, "contend sweep -d 3m 'http://a/?b&c'"},
		{[]string{"sweep", "http://a/", "--duration", "5s"}, "contend sweep -d 3m http://a/"},
		{[]string{"sweep", "--duration=5s", "--rounds", "6", "--data", "it's", "http://a/"}, `contend sweep -d 3m --data 'it'\''s' http://a/`},
		{[]string{"sweep", "--deadline", "5s", "http://a/"}, "contend sweep -d 3m --deadline 5s http://a/"},
		{[]string{"compare", "-d=5s", "--url", "http://{{addr}}/", "--", "a -d 1", "-d", ""}, "contend compare -d 3m --url 'http://{{addr}}/' -- 'a -d 1' -d ''"},
	} {
		if got := again(tt.args, 3*time.Minute); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.args, got, tt.want)
		}
	}
}
