package cli

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/experiment"
	"contend/report"
	"contend/setting"
)

func TestLonger(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"sweep", "http://a/"}, "contend sweep -d 3m http://a/"},
		{[]string{"sweep", "-d", "5s", "--levels", "1,2", "http://a/"}, "contend sweep -d 3m --levels 1,2 http://a/"},
		{[]string{"sweep", "-d5s", "http://a/?b&c"}, "contend sweep -d 3m 'http://a/?b&c'"},
		{[]string{"sweep", "http://a/", "--duration", "5s"}, "contend sweep -d 3m http://a/"},
		{[]string{"sweep", "--duration=5s", "--rounds", "6", "--data", "it's", "http://a/"}, `contend sweep -d 3m --data 'it'"'"'s' http://a/`},
		{[]string{"sweep", "-o", "a.json", "-ob.json", "--output=c.json", "http://a/"}, "contend sweep -d 3m http://a/"},
		{[]string{"sweep", "--deadline", "5s", "http://a/"}, "contend sweep -d 3m --deadline 5s http://a/"},
		{[]string{"compare", "-d=5s", "--url", "http://{{addr}}/", "--", "a -d 1", "-d", ""}, "contend compare -d 3m --url 'http://{{addr}}/' -- 'a -d 1' -d ''"},
	} {
		if got := (&app{args: tt.args}).longer(3 * time.Minute).Command; got != tt.want {
			t.Errorf("%q: %s, want %s", tt.args, got, tt.want)
		}
	}
}

func TestAgain(t *testing.T) {
	for _, tt := range []struct {
		args, dropped, others []string
		want                  string
	}{
		{[]string{"compare", "http://a/", "http://b/"}, nil, []string{"--full"}, "contend compare --full http://a/ http://b/"},
		{[]string{"compare", "-c5", "-d5s", "http://a/", "http://b/"}, []string{"-c", "--concurrency"}, []string{"-c", "1,10"},
			"contend compare -c 1,10 -d5s http://a/ http://b/"},
	} {
		if got := (&app{args: tt.args}).again(tt.dropped, tt.others...); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.args, got, tt.want)
		}
	}
}

// What is shown is typed into a shell, written into files and read from a history.
func TestQuotedWords(t *testing.T) {
	words := []string{"plain", "two words", "it's", "'", `"`, `it's "so"`, `a\b`, "$HOME", "`id`", ""}
	line := ""
	for _, word := range words {
		line += " " + report.Quoted(word)
	}
	if got, err := experiment.SplitWords(line); err != nil || !slices.Equal(got, words) {
		t.Errorf("%s is read as %q, %v", line, got, err)
	}
	got, err := exec.Command("sh", "-c", `printf '%s\n'`+line).Output()
	if err != nil || string(got) != strings.Join(words, "\n")+"\n" {
		t.Errorf("a shell reads %s as %q, %v", line, got, err)
	}
}

// After a comparison come other levels where none was chosen, and else every figure: of what was
// stored, if it was.
func TestAfterwards(t *testing.T) {
	targets := []string{"http://a/", "http://b/"}
	for _, tt := range []struct {
		flags []string
		want  string
	}{
		{nil, "contend compare -c 1,10,100 http://a/ http://b/"},
		{[]string{"-d", "30s", "-o", "x.json"}, "contend compare -c 1,10,100 http://a/ http://b/"},
		{[]string{"-c", "10", "-d", "30s"}, "contend compare --full -c 10 -d 30s http://a/ http://b/"},
		{[]string{"--rate", "500"}, "contend compare --full --rate 500 http://a/ http://b/"},
		{[]string{"-c", "10", "-o", "my file.json"}, "contend report --full 'my file.json'"},
	} {
		a := &app{args: slices.Concat([]string{"compare"}, tt.flags, targets)}
		c := &compareFlags{given: setting.Values{}}
		for i, flag := range tt.flags {
			switch flag {
			case "-c":
				c.given["concurrency"] = setting.Value{}
			case "--rate":
				c.given["rate"] = setting.Value{}
			case "-o":
				c.File = resultFile(tt.flags[i+1])
			}
		}
		if got := a.afterwards(c).Command; got != tt.want {
			t.Errorf("%q: %s, want %s", tt.flags, got, tt.want)
		}
	}
}

// Settings given for a target are kept, quoted.
func TestNext(t *testing.T) {
	given := setting.Values{"data": {Texts: []string{`{"a": 1}`}}, "header": {Texts: []string{"a: b", "c: d"}}}
	const want = `contend sweep --rate '--data={"a": 1}' '--header=a: b' '--header=c: d' http://a/`
	if got := new(app).next("sweep", []string{"--rate"}, given, "http://a/"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
