package setting

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// common is embedded in others, as settings that protocols share are.
type common struct {
	Header []string `json:"header" file:"header" flag:"header,H" list:"repeat" words:"a header \"*Name: value*\""`
}

type spacing string

func (spacing) Values() []string { return []string{"constant", "poisson"} }

// even is a type that reads, writes and checks itself.
type even int

func (e *even) UnmarshalText(text []byte) error {
	if _, err := fmt.Sscan(string(text), (*int)(e)); err != nil {
		return errors.New("no number")
	}
	return nil
}
func (e even) MarshalText() ([]byte, error) { return fmt.Append(nil, int(e)), nil }
func (e even) Check() error {
	if e%2 != 0 {
		return errors.New("it is odd")
	}
	return nil
}

type plan struct {
	common
	Rounds   int           `json:"rounds" file:"compare.rounds" default:"10" min:"1" max:"1000" words:"*number* of rounds"`
	Levels   []int         `json:"levels" file:"load.vus" flag:"concurrency,c" default:"1,10" required:"[1, 10]" min:"1" words:"levels"`
	Block    time.Duration `json:"block_ns" file:"compare.block,load.duration" flag:"duration,d" default:"150ms" min:"1ms" max:"720h" alias:"time" words:"length"`
	Margin   float64       `json:"margin" file:"compare.margin" default:"2%" unit:"percent" min:"0%" below:"100%" words:"margin"`
	Strict   float64       `json:"strict" file:"compare.strict" default:"2%" unit:"percent" above:"0%" below:"100%"`
	Size     int           `json:"size_bytes" file:"size" unit:"bytes" min:"0" max:"1MiB"`
	Arrivals spacing       `json:"arrivals" file:"arrivals" default:"constant"`
	Engine   string        `json:"engine" file:"engine" oneof:"loops,goroutines"`
	Half     even          `json:"half" file:"half"`
	Evens    []even        `json:"evens" file:"evens"`
	Pair     *even         `json:"pair" file:"pair"`
	Quiet    bool          `json:"quiet" file:"quiet" flag:"quiet,q"`
	Seed     uint64        `json:"seed" flag:"seed" default:"1"`
	Rate     float64       `json:"rate_per_s" flag:"rate" default:"1" above:"0" max:"1e9"`
	Hidden   float64       `json:"confidence" above:"0" below:"1" default:"0.95"`
	Probe    func()        `json:"-"`
}

func given(pairs ...string) Values {
	v := Values{}
	for i := 0; i < len(pairs); i += 2 {
		v[pairs[i]] = Value{Texts: strings.Split(pairs[i+1], ",")}
	}
	return v
}

func TestFill(t *testing.T) {
	two := even(2)
	for name, c := range map[string]struct {
		given Values
		form  Form
		want  func(*plan)
	}{
		"defaults":             {nil, InFile, func(*plan) {}},
		"none is a value":      {Values{"evens": {}}, InFile, func(p *plan) { p.Evens = []even{} }},
		"zero is a value":      {given("compare.margin", "0%"), InFile, func(p *plan) { p.Margin = 0 }},
		"share by flag":        {given("margin", "1.5"), InFlags, func(p *plan) { p.Margin = 0.015 }},
		"share with its %":     {given("margin", "1.5%"), InFlags, func(p *plan) { p.Margin = 0.015 }},
		"list":                 {given("load.vus", "5,7"), InFile, func(p *plan) { p.Levels = []int{5, 7} }},
		"list of one":          {given("concurrency", "5"), InFlags, func(p *plan) { p.Levels = []int{5} }},
		"duration":             {given("load.duration", "1m30s"), InFile, func(p *plan) { p.Block = 90 * time.Second }},
		"kB":                   {given("size", "64kB"), InFile, func(p *plan) { p.Size = 64_000 }},
		"MiB":                  {given("size", "0.5MiB"), InFile, func(p *plan) { p.Size = 512 << 10 }},
		"bytes":                {given("size", "500"), InFile, func(p *plan) { p.Size = 500 }},
		"enumeration":          {given("engine", "loops"), InFile, func(p *plan) { p.Engine = "loops" }},
		"enumerated type":      {given("arrivals", "poisson"), InFile, func(p *plan) { p.Arrivals = "poisson" }},
		"own type":             {given("half", "4", "evens", "2,4", "pair", "2"), InFile, func(p *plan) { p.Half, p.Evens, p.Pair = 4, []even{2, 4}, &two }},
		"bool":                 {given("quiet", "true"), InFlags, func(p *plan) { p.Quiet = true }},
		"uint, float":          {given("seed", "7", "rate", "1e3"), InFlags, func(p *plan) { p.Seed, p.Rate = 7, 1000 }},
		"embedded":             {Values{"header": {Texts: []string{"a: b", "a: b"}}}, InFile, func(p *plan) { p.Header = []string{"a: b", "a: b"} }},
		"others are ignored":   {given("nothing", "1"), InFile, func(*plan) {}},
		"a path is no flag":    {given("compare.rounds", "3"), InFlags, func(*plan) {}},
		"a flag is no path":    {given("seed", "3"), InFile, func(*plan) {}},
		"its own path first":   {given("load.duration", "1m30s", "compare.block", "1s"), InFile, func(p *plan) { p.Block = time.Second }},
		"the last text counts": {given("duration", "1s,2s"), InFlags, func(p *plan) { p.Block = 2 * time.Second }},
	} {
		t.Run(name, func(t *testing.T) {
			want := plan{Rounds: 10, Levels: []int{1, 10}, Block: 150 * time.Millisecond, Margin: 0.02, Strict: 0.02,
				Arrivals: "constant", Seed: 1, Rate: 1, Hidden: 0.95}
			c.want(&want)
			got := plan{Rounds: 99, Engine: "left over"}
			if err := Fill(&got, c.given, c.form); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		given      Values
		form       Form
		want, flag string
	}{
		{given("compare.rounds", "0"), InFile, "rounds is 0; expected 1 to 1000", "--rounds is 0; expected 1 to 1000"},
		{given("compare.rounds", "1001"), InFile, "rounds is 1001; expected 1 to 1000", "--rounds is 1001; expected 1 to 1000"},
		{given("rounds", "ten"), InFlags, `rounds is "ten"; expected 1 to 1000 (a whole number)`, `--rounds is "ten"; expected 1 to 1000 (a whole number)`},
		{given("rounds", "99999999999999999999"), InFlags, `rounds is "99999999999999999999"; expected 1 to 1000 (a whole number)`, `--rounds is "99999999999999999999"; expected 1 to 1000 (a whole number)`},
		{given("load.vus", "1,0"), InFile, "levels is 0; expected 1 or more", "--concurrency is 0; expected 1 or more"},
		{given("load.vus", "1,1"), InFile, "levels is 1, given twice", "--concurrency is 1, given twice"},
		{Values{"load.vus": {}}, InFile, "levels is empty; expected at least one value", "--concurrency is empty; expected at least one value"},
		{given("duration", "721h"), InFlags, "block is 721h; expected 1ms to 720h", "--duration is 721h; expected 1ms to 720h"},
		{given("compare.margin", "2"), InFile, `margin is "2"; expected at least 0% and less than 100% (a percentage, as in 2%)`, `--margin is "2"; expected at least 0% and less than 100% (a percentage, as in 2%)`},
		{given("compare.margin", "NaN%"), InFile, "margin is NaN%; expected at least 0% and less than 100%", "--margin is NaN%; expected at least 0% and less than 100%"},
		{given("strict", "0"), InFlags, "strict is 0%; expected more than 0% and less than 100%", "--strict is 0%; expected more than 0% and less than 100%"},
		{given("strict", "100"), InFlags, "strict is 100%; expected more than 0% and less than 100%", "--strict is 100%; expected more than 0% and less than 100%"},
		{given("rate", "0"), InFlags, "rate is 0; expected more than 0 and at most 1e9", "--rate is 0; expected more than 0 and at most 1e9"},
		{given("size", "2MiB"), InFile, "size is 2097152; expected 0 to 1MiB", "--size is 2097152; expected 0 to 1MiB"},
		{given("size", "1.5"), InFile, `size is "1.5"; expected 0 to 1MiB (a number of bytes, as in 500, 64kB or 1MiB)`, `--size is "1.5"; expected 0 to 1MiB (a number of bytes, as in 500, 64kB or 1MiB)`},
		{given("engine", "loop"), InFile, `engine is "loop"; expected loops or goroutines (did you mean "loops"?)`, `--engine is "loop"; expected loops or goroutines (did you mean "loops"?)`},
		{given("arrivals", "even"), InFile, `arrivals is "even"; expected constant or poisson`, `--arrivals is "even"; expected constant or poisson`},
		{given("half", "3"), InFile, `half is "3": it is odd`, `--half is "3": it is odd`},
		{given("half", "x"), InFile, `half is "x": no number`, `--half is "x": no number`},
		{given("quiet", "yes"), InFlags, `quiet is "yes"; expected true or false`, `--quiet is "yes"; expected true or false`},
		{given("seed", "-1"), InFlags, `seed is "-1"; expected a whole number, 0 or more`, `--seed is "-1"; expected a whole number, 0 or more`},
	} {
		var p plan
		err := Fill(&p, c.given, c.form)
		if err == nil || err.Error() != c.want {
			t.Errorf("%v: got %v, want %s", c.given, err, c.want)
		}
		if got := FlagErrors(err); got == nil || got.Error() != c.flag {
			t.Errorf("%v: got %v, want %s", c.given, got, c.flag)
		}
		if checked := Check(p); checked == nil && !Mistakes(err)[0].Unreadable || checked != nil && checked.Error() != err.Error() {
			t.Errorf("%v: the struct is wrong in %v, want the same mistake, or none where the text cannot be read", c.given, checked)
		}
	}
}

// All mistakes are reported at once, each with its place.
func TestPlaces(t *testing.T) {
	var p plan
	err := Fill(&p, Values{
		"compare.rounds": {Texts: []string{"0"}, Places: []Place{{3, 9}}},
		"load.vus":       {Texts: []string{"1", "x", "0"}, Places: []Place{{4, 1}, {4, 4}, {4, 7}}},
	}, InFile)
	var got []string
	for _, m := range Mistakes(fmt.Errorf("plan: %w", err)) {
		got = append(got, fmt.Sprintf("%d:%d %s %s", m.At.Line, m.At.Column, m.Path(), m.Text()))
	}
	want := []string{"3:9 compare.rounds is 0; expected 1 to 1000", `4:4 load.vus[1] is "x"; expected 1 or more (a whole number)`, "4:7 load.vus[2] is 0; expected 1 or more"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Each combination of ends says what is allowed, whichever are open.
func TestAllowed(t *testing.T) {
	want := []string{"1 to 9", "at least 1 and less than 9", "more than 1 and at most 9", "more than 1 and less than 9", "1 or more", "more than 1", "at most 9", "less than 9", "a whole number"}
	for i, s := range Of(struct {
		A int `flag:"a" min:"1" max:"9"`
		B int `flag:"b" min:"1" below:"9"`
		C int `flag:"c" above:"1" max:"9"`
		D int `flag:"d" above:"1" below:"9"`
		E int `flag:"e" min:"1"`
		F int `flag:"f" above:"1"`
		G int `flag:"g" max:"9"`
		H int `flag:"h" below:"9"`
		I int `flag:"i"`
	}{}) {
		if s.Allowed() != want[i] {
			t.Errorf("%s: %s, want %s", s.Name, s.Allowed(), want[i])
		}
	}
}

// Values made in Go are checked by the same bounds.
func TestCheck(t *testing.T) {
	var p plan
	Defaults(&p)
	if err := Check(p); err != nil {
		t.Error(err)
	}
	p.Rounds, p.Hidden, p.Evens, p.Engine = 0, 1, []even{2, 3}, "x"
	want := "rounds is 0; expected 1 to 1000\nengine is \"x\"; expected loops or goroutines\nevens is \"3\": it is odd\nconfidence is 1; expected more than 0 and less than 1"
	if err := Check(&p); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if got := At(&p, &p.Rounds).Wrong("is %d of %d", 1, 2).Error(); got != "rounds is 1 of 2" {
		t.Errorf("got %q", got)
	}
}

// An error that is not a mistake keeps its words.
func TestOtherErrors(t *testing.T) {
	var p plan
	err := errors.Join(errors.New("the disk is full"), fmt.Errorf("wrapped: %w", errors.New("inner")), At(&p, &p.Rounds).Wrong("is wrong"))
	want := "the disk is full\nwrapped: inner\n--rounds is wrong"
	if got := FlagErrors(err); got.Error() != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if FlagErrors(nil) != nil || len(Mistakes(nil)) != 0 {
		t.Error("nothing is a mistake")
	}
}

func TestValuesOver(t *testing.T) {
	below := given("a", "1", "b", "2")
	got := given("b", "3").Over(below)
	if !reflect.DeepEqual(got, given("a", "1", "b", "3")) || below["b"].Texts[0] != "2" {
		t.Errorf("got %v over %v", got, below)
	}
	if got := given("a", "1").Over(nil); !reflect.DeepEqual(got, given("a", "1")) {
		t.Errorf("over nothing got %v", got)
	}
}

func TestMissingAndForeign(t *testing.T) {
	list := Of(plan{})
	if err := Missing(list, nil); err == nil || err.Error() != "levels is missing: levels, as in [1, 10]" {
		t.Errorf("got %v", err)
	}
	if err := Missing(list, given("load.vus", "1")); err != nil {
		t.Error(err)
	}
	if got := Foreign(list, given("size", "1", "z", "1", "mode", "x", "load.duration", "1s"), InFile); !reflect.DeepEqual(got, []string{"mode", "z"}) {
		t.Errorf("got %q", got)
	}
}

func TestFlags(t *testing.T) {
	v := Values{}
	flags := Flags(append(Of(plan{}), Of(plan{})...), v)
	byName := map[string]Flag{}
	for _, f := range flags {
		byName[f.Setting.Flag] = f
	}
	if len(flags) != len(byName) || len(flags) != 15 {
		t.Errorf("there are %d flags of %d names, want 15", len(flags), len(byName))
	}
	if f := byName["concurrency"]; f.String() != "1,10" || f.Type() != "ints" || f.Short != "c" {
		t.Errorf("concurrency is %q, %s, %s", f.String(), f.Type(), f.Short)
	}
	for _, give := range []struct{ flag, text string }{{"concurrency", "1,2"}, {"concurrency", "3"}, {"header", "a: b, c"}, {"header", "d: e"}, {"rounds", "1"}, {"rounds", "2"}} {
		if err := byName[give.flag].Set(give.text); err != nil {
			t.Error(err)
		}
	}
	var p plan
	if err := Fill(&p, v, InFlags); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(p.Levels, []int{1, 2, 3}) || !reflect.DeepEqual(p.Header, []string{"a: b, c", "d: e"}) || p.Rounds != 2 {
		t.Errorf("got %+v", p)
	}
	for name, want := range map[string]string{"rounds": "int", "duration": "duration", "margin": "percent", "size": "bytes",
		"rate": "float", "quiet": "bool", "engine": "string", "half": "string", "header": "strings"} {
		if got := byName[name].Type(); got != want {
			t.Errorf("--%s has type %s, want %s", name, got, want)
		}
	}
}

func TestUsage(t *testing.T) {
	list := Of(plan{})
	if got := Pick(list, "rounds")[0].Usage(); got != "`number` of rounds" {
		t.Errorf("got %q", got)
	}
	if got := Pick(list, "header")[0]; got.Usage() != "a header \"`Name: value`\"" || got.Words != `a header "Name: value"` {
		t.Errorf("got %q", got.Usage())
	}
}

func TestTable(t *testing.T) {
	want := "| field | meaning | allowed | default |\n| --- | --- | --- | --- |\n" +
		"| `rounds` | number of rounds | 1 to 1000 | `10` |\n" +
		"| `block` | length | 1ms to 720h | `150ms` |\n" +
		"| `margin` | margin | at least 0% and less than 100% | `2%` |\n" +
		"| `strict` |  | more than 0% and less than 100% | `2%` |\n"
	if got := Table("compare", Of(plan{})); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := Table("load", Of(plan{})); !strings.Contains(got, "| `vus` | levels | 1 or more | required, as in `[1, 10]` |") {
		t.Errorf("got\n%s", got)
	}
}

func TestTagsThatCannotBeRead(t *testing.T) {
	for name, structure := range map[string]any{
		"bound": struct {
			A int `flag:"a" min:"x"`
		}{},
		"default": &struct {
			A int `flag:"a" default:"x"`
		}{},
		"type": &struct {
			A map[string]int `flag:"a" default:"x"`
		}{},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			Of(structure)
			Defaults(structure)
		}()
	}
}

// What is expected is said once if it is long; a short list stays with its mistake, and so does what wraps one.
func TestOnce(t *testing.T) {
	long, short := strings.Repeat("word,", 20), "e"
	wrong := func(owner, allowed, meant string) *Mistake {
		return &Mistake{Owner: owner, Index: -1, Problem: "is wrong", Allowed: allowed, Meant: meant}
	}
	of := fmt.Errorf("\"x\": %w", wrong("", long, "y"))
	mistakes := errors.Join(wrong("a", long, ""), errors.Join(wrong("b", long, "c"), wrong("d", short, "")), wrong("f", short, ""),
		FlagErrors(Setting{Name: "load", Flag: "rate"}.Says("is ", of)))
	want := "a: is wrong; expected " + long + "\nb: is wrong; expected as above (did you mean \"c\"?)\n" +
		"d: is wrong; expected e\nf: is wrong; expected e\n--rate is \"x\": is wrong; expected as above (did you mean \"y\"?)"
	if got := Once(mistakes).Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
