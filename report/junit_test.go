package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"contend/expect"
	"contend/internal/testenv"
	"contend/report"
)

// An xsd is what a schema says of elements and attributes, as far as that of JUnit uses it.
type xsd struct {
	Elements []struct {
		Name string  `xml:"name,attr"`
		Type string  `xml:"type,attr"`
		Own  xsdType `xml:"complexType"`
	} `xml:"element"`
	Types []xsdType `xml:"complexType"`
}

type xsdType struct {
	Name       string   `xml:"name,attr"`
	Mixed      bool     `xml:"mixed,attr"`
	Sequence   []xsdRef `xml:"sequence>element"`
	Choice     []xsdRef `xml:"choice>element"`
	Attributes []struct {
		Name string `xml:"name,attr"`
		Type string `xml:"type,attr"`
		Use  string `xml:"use,attr"`
	} `xml:"attribute"`
}

type xsdRef struct {
	Ref string `xml:"ref,attr"`
}

func (s xsd) of(element string) (xsdType, bool) {
	for _, e := range s.Elements {
		switch {
		case e.Name != element:
		case e.Type == "":
			return e.Own, true
		case e.Type == "xs:string":
			return xsdType{Mixed: true}, true
		default:
			i := slices.IndexFunc(s.Types, func(t xsdType) bool { return t.Name == e.Type })
			return s.Types[i], true
		}
	}
	return xsdType{}, false
}

// check returns what of the XML the schema does not allow.
func (s xsd) check(data []byte) error {
	var open []xsdType
	for dec := xml.NewDecoder(bytes.NewReader(data)); ; {
		token, err := dec.Token()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			typ, known := s.of(name)
			if !known || len(open) > 0 && !slices.Contains(slices.Concat(open[len(open)-1].Sequence, open[len(open)-1].Choice), xsdRef{name}) {
				return fmt.Errorf("element %s is not allowed here", name)
			}
			if err := typ.attributes(token.Attr); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			open = append(open, typ)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if strings.TrimSpace(string(token)) != "" && (len(open) == 0 || !open[len(open)-1].Mixed) {
				return fmt.Errorf("text %q is not allowed here", token)
			}
		}
	}
}

func (t xsdType) attributes(given []xml.Attr) error {
	values := map[string]string{}
	for _, a := range given {
		values[a.Name.Local] = a.Value
	}
	for _, a := range t.Attributes {
		value, has := values[a.Name]
		delete(values, a.Name)
		var err error
		switch {
		case !has && a.Use == "required":
			return errors.New(a.Name + " is missing")
		case !has:
		case a.Type == "xs:nonNegativeInteger":
			_, err = strconv.ParseUint(value, 10, 64)
		case a.Type == "xs:dateTime":
			_, err = time.Parse("2006-01-02T15:04:05", value)
		}
		if err != nil {
			return err
		}
	}
	for name := range values {
		return errors.New(name + " is not allowed")
	}
	return nil
}

func schemaOfJUnit(t *testing.T) xsd {
	t.Helper()
	data := testenv.Read(t, "testdata/junit.xsd")
	var s xsd
	if err := xml.Unmarshal(data, &s); err != nil || len(s.Elements) < 9 {
		t.Fatalf("%v, %d elements", err, len(s.Elements))
	}
	return s
}

func TestSchemaRefuses(t *testing.T) {
	s := schemaOfJUnit(t)
	suite := func(inside string) string {
		return `<testsuite name="" tests="1" failures="0" errors="0">` + inside + `</testsuite>`
	}
	for text, allowed := range map[string]bool{
		suite(`<testcase name="a"><skipped type="">text</skipped></testcase>`): true,
		suite(`<testcase/>`):                                       false,
		suite(`<testcase name="a" x=""/>`):                         false,
		suite(`<testcase name="a">text</testcase>`):                false,
		suite(`<skipped/>`):                                        false,
		suite(`<unknown/>`):                                        false,
		`<testsuite name="" tests="one" failures="0" errors="0"/>`: false,
	} {
		if err := s.check([]byte(text)); err == nil != allowed {
			t.Errorf("%s: %v", text, err)
		}
	}
}

type junitSuites struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Suite    struct {
		Skipped int         `xml:"skipped,attr"`
		Cases   []junitCase `xml:"testcase"`
	} `xml:"testsuite"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Skipped *junitReason `xml:"skipped"`
	Error   *junitReason `xml:"error"`
	Failure *junitReason `xml:"failure"`
	Out     string       `xml:"system-out"`
}

type junitReason struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// ended says how the case did.
func (c junitCase) ended() (how, text string) {
	for _, one := range []struct {
		how string
		*junitReason
	}{{"failure", c.Failure}, {"error", c.Error}, {"skipped", c.Skipped}} {
		if one.junitReason != nil {
			return one.how + " " + one.Type, one.Message + "\n" + one.Text
		}
	}
	return "passed", c.Out
}

func junitOf(t *testing.T, d *report.Document) []junitCase {
	t.Helper()
	b := rendered(t, d.JUnit)
	if err := schemaOfJUnit(t).check([]byte(b)); err != nil {
		t.Fatalf("%v\n%s", err, []byte(b))
	}
	var suites junitSuites
	if err := xml.Unmarshal([]byte(b), &suites); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	seen := map[[2]string]bool{}
	for _, c := range suites.Suite.Cases {
		how, _ := c.ended()
		how, _, _ = strings.Cut(how, " ")
		counts[how]++
		if name := [2]string{c.Class, c.Name}; seen[name] {
			t.Errorf("two cases are called %s", name)
		} else {
			seen[name] = true
		}
	}
	got := []int{suites.Tests, suites.Failures, suites.Errors, suites.Suite.Skipped}
	if want := []int{len(suites.Suite.Cases), counts["failure"], counts["error"], counts["skipped"]}; !slices.Equal(got, want) || got[0] == 0 {
		t.Errorf("counts %v, want %v", got, want)
	}
	return suites.Suite.Cases
}

// Every document has test cases of the form, and of every verdict one.
func TestJUnit(t *testing.T) {
	for name, d := range allDocuments() {
		cases := junitOf(t, d)
		for _, c := range d.Comparisons {
			i := slices.IndexFunc(cases, func(test junitCase) bool {
				return test.Name == fmt.Sprintf("%s of %s against %s at concurrency %d", c.Metric.Words(), c.Candidate, c.Baseline, c.Concurrency)
			})
			if i < 0 {
				t.Errorf("%s: no case of %s at %d", name, c.Metric, c.Concurrency)
			} else if _, text := cases[i].ended(); !strings.Contains(text, string(c.Verdict)) {
				t.Errorf("%s: %q does not say %s", name, text, c.Verdict)
			}
		}
	}
}

// A case with exit code 3 fails, an INVALID one errs, and one that is not decided or not asked for is skipped.
func TestJUnitEndings(t *testing.T) {
	experiment := document("lab")
	experiment.Experiments = []report.Experiment{{ID: "lock", Status: "done", Expectations: []expect.Expectation{
		{Part: "small", Text: "errors == 0", Held: true}, {Text: "p99 < 20ms", Detail: "response time p99 was 291 ms"}}},
		{ID: "later", Status: "planned"}, {ID: "broken", Status: "failed", Error: "no such program"}}
	experiment.Add(report.Place{Experiment: "lock", Part: "small"}, verdicts(20))
	early := document("run")
	early.Failure = "nobody listens"
	for _, tt := range []struct {
		d                      *report.Document
		class, name, how, says string
	}{
		{comparison(), "compare", "measured", "passed", ""},
		{comparison(), "compare", "throughput of inputq against mutex at concurrency 10", "passed", "FASTER, valid: "},
		{comparison(), "compare", "throughput of inputq against mutex at concurrency 20", "failure SLOWER", "inputq is 10.0% slower than mutex"},
		{comparison(), "compare", "response time p90 of inputq against mutex at concurrency 20", "skipped SLOWER", "95% CI"},
		{comparison(), "compare", "server CPU per op of inputq against mutex at concurrency 20", "skipped MORE", "server CPU per op"},
		{comparison(), "compare", "throughput of inputq against mutex at concurrency 30", "passed", "EQUIVALENT"},
		{comparison(), "compare", "throughput of inputq against mutex at concurrency 40", "skipped INCONCLUSIVE", "would settle it"},
		{comparison(), "compare", "throughput of inputq against mutex at concurrency 60", "error INVALID", "What to do: "},
		{experiment, "lock", "measured", "passed", ""},
		{experiment, "lock/small", "errors == 0", "passed", "passed"},
		{experiment, "lock", "p99 < 20ms", "failure expectation", "response time p99 was 291 ms"},
		{experiment, "lock/small", "throughput of inputq against mutex at concurrency 20", "skipped SLOWER", "10.0% slower"},
		{experiment, "later", "measured", "skipped planned", "cannot be run yet"},
		{experiment, "broken", "measured", "error failed", "no such program"},
		{early, "run", "measured", "error failed", "nobody listens"},
		{nothingSucceeded(), "run", "measured", "error INVALID", "Most often: "},
		{swept(), "sweep", "measured", "error INVALID", "the sweep of refused"},
		{searched(false), "sweep", "highest rate of the target, response_p99_ns < 20ms", "passed", "FOUND"},
	} {
		cases := junitOf(t, tt.d)
		i := slices.IndexFunc(cases, func(c junitCase) bool { return c.Class == tt.class && c.Name == tt.name })
		if i < 0 {
			t.Errorf("no case %s %s in %+v", tt.class, tt.name, cases)
		} else if how, text := cases[i].ended(); how != tt.how || !strings.Contains(text, tt.says) {
			t.Errorf("%s %s: %s, want %s with %q:\n%s", tt.class, tt.name, how, tt.how, tt.says, text)
		}
	}
}

// Names and texts of others are text.
func TestJUnitOfHostileNames(t *testing.T) {
	for _, name := range []string{`]]><failure/>`, `"><failure message="`, "\x00\x1b[2J\u202e", "&lt;", "a\nb"} {
		d := document("lab")
		d.Experiments = []report.Experiment{{ID: name, Status: "failed", Error: name}}
		if cases := junitOf(t, d); len(cases) != 1 || cases[0].Failure != nil {
			t.Errorf("%q: %+v", name, cases)
		}
	}
}
