package abform_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/report/abform"
)

// samples are n iterations in sequence: the i-th connects in i µs and takes
// 5000+10·i µs. It waits for the first byte during all but 100 µs of that.
func samples(n int, connects bool) []load.Sample {
	var list []load.Sample
	start := time.Duration(0)
	for i := range n {
		s := load.Sample{Start: start, End: start + 5*time.Millisecond + time.Duration(i)*10*time.Microsecond}
		if connects {
			s.Outcome.Phases.Connect = time.Duration(i) * time.Microsecond
		}
		s.Outcome.Phases.FirstByte = s.End - s.Start - 100*time.Microsecond - s.Outcome.Phases.Connect
		list, start = append(list, s), s.End
	}
	return list
}

// forms are the cases of the form.
func forms() map[string]*abform.Form {
	form := func(result load.Result, n int, connects bool) *abform.Form {
		times := abform.NewTimes(true)
		for _, s := range samples(n, connects) {
			times.Add(s)
		}
		result.Concurrency = 2
		result.ThroughputPerSec = float64(result.Completed) / result.Duration.Seconds()
		return &abform.Form{Result: &result, Times: times, Host: "localhost", Port: 8080, Path: "/a?b=<c>", Server: "nginx/1.22.1", Length: 61}
	}
	right := load.Result{
		Duration: 1250 * time.Millisecond,
		Counts: load.Counts{
			Planned: 300, Completed: 300, BytesIn: 64_500, BodyIn: 18_300, BytesOut: 30_000,
			Statuses: map[int]int64{200: 300},
		},
	}
	// 100 of 400 are wrong: 40 by status, 20 by length, 40 without an answer.
	wrong := load.Result{
		Duration: 2 * time.Second,
		Counts: load.Counts{
			Planned: 400, Completed: 300, Failed: 60, BytesIn: 60_000, BodyIn: 18_000, BytesOut: 30_000,
			Statuses: map[int]int64{200: 320, 503: 40},
			Faults: []load.Fault{{Status: 503, Count: 40, Example: "HTTP/1.0 503 Service\x1b Unavailable\r\nA: b\r\n\r\nbusy"},
				{Check: "length", Count: 20}},
			Errored:  map[errkind.Kind]int64{errkind.Refused: 1, errkind.Closed: 16, errkind.Reset: 2, errkind.Timeout: 20, errkind.Protocol: 1},
			Examples: map[errkind.Kind]string{errkind.Refused: "connection refused"},
		},
	}
	nothing := load.Result{Duration: time.Millisecond, Counts: load.Counts{Planned: 13, Unfinished: 2, Errored: map[errkind.Kind]int64{errkind.Refused: 11}}}

	forms := map[string]*abform.Form{
		"kept": form(right, 300, false), "strict": form(right, 300, true), "tls": form(right, 300, true),
		"wrong": form(wrong, 300, true), "wrong-strict": form(wrong, 300, true), "nothing": form(nothing, 0, false),
	}
	forms["kept"].KeepAlive, forms["kept"].KeptAlive = true, 299
	forms["strict"].Strict = true
	tls := forms["tls"]
	tls.TLS, tls.TempKey, tls.ServerName = "TLSv1.3,TLS_AES_128_GCM_SHA256,2048,128", "X25519 253 bits", "localhost"
	tls.HasBody, tls.HideSpread, tls.HidePercentages, tls.VariableLength = true, true, true, true
	forms["wrong-strict"].Strict, forms["wrong-strict"].OtherLength = true, 76 // 40 + 20 + 16 empty
	return forms
}

func TestGolden(t *testing.T) {
	began := time.Date(2026, 11, 21, 9, 7, 22, 0, time.UTC)
	for name, form := range forms() {
		for extension, write := range map[string]func(io.Writer) error{
			".txt": form.Text, ".csv": form.CSV,
			".html": func(w io.Writer) error {
				return form.HTML(w, abform.Markup{Table: "border=1", Cell: "bgcolor=white"})
			},
			".tsv": func(w io.Writer) error { return form.Gnuplot(w, began) },
		} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			got := b.Bytes()
			if lines := bytes.SplitAfter(got, []byte("\n")); extension == ".tsv" && len(lines) > 10 {
				got = bytes.Join(lines[:10], nil) // the others are like these
			}
			testenv.Golden(t, "testdata/"+name+extension, got)
		}
	}
}

// The parts of the failed requests add up to them, and the share is theirs.
func TestCounts(t *testing.T) {
	text := func(f *abform.Form) string {
		var b bytes.Buffer
		if err := f.Text(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for name, want := range map[string][]string{
		// 300 right + 60 + 40; 21 exceptions = 40 + 1, minus what has a column
		"wrong": {"Complete requests:      400\n", "Failed requests:        100\n",
			"(Connect: 1, Receive: 38, Length: 20, Exceptions: 41)", "Non-2xx responses:      40\n",
			"Requests per second:    150.00 ", "Errored responses:       100 (25.00%)\n", "Time per request:       10.000 [ms] (mean)\n"},
		// ab counts 16 closed, 2 reset and 1 broken answer as complete: 379. Its
		// failed are the 76 of another length, 1 + 22 + 1.
		"wrong-strict": {"Complete requests:      379\n", "Failed requests:        100\n",
			"(Connect: 1, Receive: 22, Length: 76, Exceptions: 1)", "Requests per second:    189.50 "},
		"nothing": {"Failed requests:        11\n", "Requests per second:    0.00 ", "none, nothing succeeded", "refused: 11"},
	} {
		got := text(forms()[name])
		for _, line := range want {
			if !strings.Contains(got, line) {
				t.Errorf("%s lacks %q:\n%s", name, line, got)
			}
		}
	}
}

// Means, deviations and ranks are those of the sorted list, within what the
// histogram promises and the form rounds.
func TestTimesAgreeWithTheList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Int64Range(0, int64(100*time.Second)), 2, 60).Draw(t, "times")
		times := abform.NewTimes(false)
		mean := 0.0
		for _, d := range list {
			times.Add(load.Sample{End: time.Duration(d)})
			mean += float64(d) / float64(len(list))
		}
		squares := 0.0
		for _, d := range list {
			squares += (float64(d) - mean) * (float64(d) - mean)
		}
		slices.Sort(list)
		form := abform.Form{Result: &load.Result{Duration: time.Second, Counts: load.Counts{Completed: int64(len(list))}}, Times: times}
		var b bytes.Buffer
		if err := form.Text(&b); err != nil {
			t.Fatal(err)
		}
		_, line, _ := strings.Cut(b.String(), "\nTotal:")
		line, _, _ = strings.Cut(line, "\n")
		median := float64(list[(len(list)+1)/2-1]) // nearest rank ⌈n/2⌉
		want := []float64{float64(list[0]), mean, math.Sqrt(squares / float64(len(list)-1)), median, float64(list[len(list)-1])}
		for i, field := range strings.Fields(line) {
			got, err := strconv.ParseFloat(field, 64)
			if err != nil || math.Abs(got*1e6-want[i]) > 0.0011*want[i]+1000 {
				t.Fatalf("column %d of %q is %v, want %v", i, line, got, want[i]/1e6)
			}
		}
	})
}

// ab's ranks: with 20 requests 50% is the 11th, 99% the 20th; in the file of
// -e 50% is the 11th too, 1% the first (0.5 + 0.2, cut off, from 0).
func TestRanks(t *testing.T) {
	times := abform.NewTimes(false)
	for i := range 20 {
		times.Add(load.Sample{End: time.Duration(i+1) * time.Millisecond})
	}
	form := abform.Form{Result: &load.Result{Duration: time.Second, Counts: load.Counts{Completed: 20}}, Times: times, Strict: true}
	var text, csv bytes.Buffer
	if err := form.Text(&text); err != nil {
		t.Fatal(err)
	}
	if err := form.CSV(&csv); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  50%     11\n", "  66%     14\n", "  99%     20\n", " 100%     20 (longest request)\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	for _, want := range []string{"\n0,1.000\n1,1.000\n", fmt.Sprintf("\n50,%.2f", 11.0), "\n100,20.000\n"} {
		if !strings.Contains(csv.String(), want) {
			t.Errorf("no %q in\n%s", want, &csv)
		}
	}
}
