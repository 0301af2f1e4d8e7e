package message

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A token of JSON, roughly: mutations keep most texts well-formed, so that the
// parsers meet wrong messages more often than wrong JSON.
var token = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[-+.\w]+|[][{}:,]|\s+`)

var substitutes = []string{
	"0", "1", "-0", "01", "8", "9", "12", "13", "15", "16", "255", "256", "4294967295", "4294967296", "18446744073709551615",
	"18446744073709551616", "18446744073709551625", "99999999999999999999", "1.0", "1e2", "-1", "1e39", "1e-50", "1e400", "0.5",
	"-97.25", "3.4028235e38", "3.4028236e38", "null", "true", "false", "nul", "[]", "{}", "[null]", "[1,2,3]", "[1,]", "[[1]]",
	`""`, `"x"`, `"\u0041"`, `"\ud83d"`, `"\x"`, `"Success"`, `"Other"`, `"MICFailed"`, "\"\xff\"", "\"é\"", ",", ":", "}", "{", "]", "[", " ", "\n",
	`"ProtocolVersion"`, `"TransactionID"`, `"MIC"`, `"mic"`, `"DevEUI"`, `"Addr"`, `"LoRa"`, `"FSK"`, `"FHSS"`, `"Delay"`, `"Deadline"`,
	`"TMMS"`, `"GPS"`, `"Alt"`, `"\u004dIC"`, `"ResultCode"`, `"ResultMessage"`, `"Outdated"`, `"TargetDevAddr"`, `"Ocw"`,
	`{"Lat":1,"Lng":2,"Alt":null}`, `{"Ocw":1,"CodingRate":"4/6"}`, `{"FrequencyDeviation":1,"BitRate":2}`, `{"Spreading":1,"Bandwidth":2}`,
}

// mutate replaces, removes, doubles or inserts tokens.
func mutate(t *rapid.T, text string) string {
	tokens := token.FindAllString(text, -1)
	for range rapid.IntRange(0, 4).Draw(t, "mutations") {
		at := rapid.IntRange(0, len(tokens)-1).Draw(t, "token")
		other := rapid.SampledFrom(substitutes).Draw(t, "substitute")
		from := rapid.IntRange(at, min(at+8, len(tokens)-1)).Draw(t, "from")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			tokens[at] = other
		case 1:
			tokens[at] = ""
		case 2:
			tokens[at] += other
		case 3:
			tokens[at] += strings.Join(tokens[at:from+1], "")
		}
	}
	return strings.Join(tokens, "")
}

func TestMutations(t *testing.T) {
	for name, f := range map[string]format{"upstream": upstreamFormat(), "answer": answerFormat(), "downstream": downstreamFormat()} {
		accepted := 0
		rapid.Check(t, func(t *rapid.T) {
			if f.check(t, []byte(mutate(t, rapid.SampledFrom(f.texts).Draw(t, "text")))) == nil {
				accepted++
			}
		})
		if accepted == 0 {
			t.Errorf("%s: no mutation was accepted", name)
		}
	}
}
