package recorded

import (
	"fmt"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	const head = Columns + "\n"
	for _, test := range []struct{ text, wrong string }{
		{"# somewhere\n" + head + "20,1,1,a,20000,5,7\n20,1,1,b,20001,6,8\n# the end\n", ""},
		{"", "EOF"},
		{"block,round\n", "line 1"},
		{"a,b,c,d,e,f,g\n", `the columns are "a,b,c,d,e,f,g"`},
		{head, "no blocks"},
		{head + "20,1,1,a,20000,5\n", "line 2"},
		{head + "20,1,1,a,20000,5,7\n", "the last pair has one block"},
		{"# x\n" + head + "20,1,1,a,20000,5,7\n20,1,1,c,20000,5,x\n", `line 4: arm is "c"; expected a, b` + "\n" + `server_cpu_us is "x"`},
		{head + "20,1,1,a,20000,5,7\n20,1,1,a,20000,5,7\n", "line 3: pair 1 of round 1 has one block only"},
		{head + "20,1,1,a,20000,5,7\n20,1,2,b,20000,5,7\n", "line 3: pair 1 of round 1 has one block only"},
		{head + "20,1,2,a,20000,5,7\n", "line 2: round 1, pair 2 does not follow on round 0, pair 0"},
		{head + "20,1,1,a,20000,5,7\n20,1,1,b,20000,5,7\n20,3,1,b,20000,5,7\n", "line 4: round 3, pair 1 does not follow"},
		{head + "20,0,1,a,20000,5,7\n", `line 2: round is "0"`},
	} {
		_, err := Parse(strings.NewReader(test.text))
		if (err == nil) != (test.wrong == "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%q: %v, want %q", test.text, err, test.wrong)
		}
	}
}

func TestBlocksOfALengthInTwoPlaces(t *testing.T) {
	text := Columns
	for _, ms := range []int{20, 100, 20} {
		text += fmt.Sprintf("\n%d,1,1,a,20000,5,7\n%[1]d,1,1,b,20000,5,7", ms)
	}
	if _, err := Parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "line 6: blocks of 20ms") {
		t.Error(err)
	}
}
