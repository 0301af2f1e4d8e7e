package chart_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"contend/internal/testenv"
	"contend/report/chart"
)

// pictures are one of each kind.
func pictures() map[string]string {
	points := []chart.Point{{X: 1, Y: 10, Note: "one"}, {X: 2, Y: 40}, {X: 3, Y: math.NaN()}, {X: 10, Y: 1000, Low: 800, High: 1300}}
	lines := chart.Chart{Alt: "a line and dots", X: chart.Axis{Label: "concurrency"}, Y: chart.Axis{Label: "time", Scale: chart.Log},
		Series: []chart.Series{{Name: "a < b", Points: points}, {Style: chart.Dots, Colour: 1, Points: points}},
		Bands:  []chart.Band{{AlongX: true, From: 1, To: 2, Text: "warm-up"}, {From: 20, To: 30}},
		Marks:  []chart.Mark{{AlongX: true, At: 8, Text: "enough"}, {At: 500, Text: "limit"}}}
	rows := chart.Rows{Alt: "rows", X: chart.Axis{Label: "difference"}, Band: chart.Band{From: -2, To: 2}, Mark: []chart.Mark{{At: 0}},
		Rows: []chart.Row{{Name: "throughput", Value: 5, Low: 4, High: 6, Text: "5%"}, {Name: "a name that is too long for the room that there is in a row of it", Value: -1, Text: "INVALID", Faint: true}, {Name: "none", Value: math.NaN()}}}
	bars := chart.Rows{Alt: "bars", Bars: true, X: chart.Axis{Scale: chart.Log}, Rows: []chart.Row{{Name: "a", Value: 10}, {Name: "b", Value: 1000}}}
	heat := chart.Heat{Alt: "counts", X: chart.Axis{Label: "s"}, Y: chart.Axis{Scale: chart.Log}, XEnds: [2]float64{0, 10}, YEnds: [2]float64{1, 100}, Counts: [][]int64{{0, 1}, {1000, 5}}}
	flame := chart.Flame{Alt: "calls", Boxes: []chart.Box{{Name: "all", Note: "all: 10", Wide: 1, More: 1}, {Name: "a<b>", Note: "a<b>: 4", Depth: 1, Wide: 0.4, More: -0.5}, {Name: "small", Note: "small: 0.01", Depth: 1, From: 0.4, Wide: 0.001}}}
	return map[string]string{"flame": flame.SVG(), "lines": lines.SVG(), "rows": rows.SVG(), "bars": bars.SVG(), "heat": heat.SVG(), "nothing": new(chart.Chart).SVG()}
}

func TestGolden(t *testing.T) {
	for name, svg := range pictures() {
		testenv.Golden(t, "testdata/"+name+".svg", svg+"\n")
	}
}

func texts(t testing.TB, svg, class string) []string {
	var list []string
	decoder := xml.NewDecoder(strings.NewReader(svg))
	inside := false
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		switch e := token.(type) {
		case xml.StartElement:
			inside = e.Name.Local == "text" && len(e.Attr) > 0 && e.Attr[0].Value == class
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if inside {
				list = append(list, string(e))
			}
		}
	}
}

// Ticks are multiples of 1, 2 or 5 times a power of ten, four to ten of them; on a logarithmic
// axis powers of ten with 2 and 5 times them where these are few; of quantiles 1 − 10⁻ⁿ.
func TestTicks(t *testing.T) {
	for _, tt := range []struct {
		name string
		axis chart.Axis
		xs   []float64
		want string
	}{
		{"0 to 10 by 2", chart.Axis{Zero: true}, []float64{10}, "0 2 4 6 8 10"},
		{"−3 to 4: a seventh is 1.4, so 2", chart.Axis{}, []float64{-3, 4}, "-2 0 2 4"},
		{"one value has half of it around", chart.Axis{}, []float64{100}, "60 80 100 120 140"},
		{"one decade", chart.Axis{Scale: chart.Log}, []float64{1, 10}, "1 2 5 10"},
		{"four decades", chart.Axis{Scale: chart.Log}, []float64{1, 1e4}, "1 10 100 1000 1e+04"},
		{"three decades, of which two powers lie within", chart.Axis{Scale: chart.Log}, []float64{130, 72_000}, "200 500 1000 2000 5000 1e+04 2e+04 5e+04"},
		{"less than a decade", chart.Axis{Scale: chart.Log}, []float64{210, 290}, "220 240 260 280"},
		{"quantiles", chart.Axis{Scale: chart.Quantile}, []float64{0, 0.999}, "0 0.9 0.99 0.999"},
		{"nothing", chart.Axis{}, []float64{math.NaN()}, ""},
		{"no logarithm", chart.Axis{Scale: chart.Log}, []float64{0, -1}, ""},
		{"too large to be drawn", chart.Axis{}, []float64{1e300}, ""},
	} {
		rows := chart.Rows{X: tt.axis}
		for _, x := range tt.xs {
			rows.Rows = append(rows.Rows, chart.Row{Value: x})
		}
		got := strings.Join(texts(t, rows.SVG(), "tick"), " ")
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Whatever is drawn is well-formed and inside of the picture, and what texts say is text.
func TestAnythingIsDrawn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-10, 1e6), rapid.Just(math.Inf(1)), rapid.Just(math.NaN()))
		text := rapid.OneOf(rapid.String(), rapid.Just(`"><script>x</script>`))
		axis := func() chart.Axis {
			return chart.Axis{Label: text.Draw(rt, "label"), Scale: chart.Scale(rapid.IntRange(0, 2).Draw(rt, "scale")), Zero: rapid.Bool().Draw(rt, "zero")}
		}
		var points []chart.Point
		var rows []chart.Row
		for range rapid.IntRange(0, 4).Draw(rt, "points") {
			points = append(points, chart.Point{X: value.Draw(rt, "x"), Y: value.Draw(rt, "y"), Low: value.Draw(rt, "low"), High: value.Draw(rt, "high"), Note: text.Draw(rt, "note")})
			rows = append(rows, chart.Row{Name: text.Draw(rt, "name"), Value: value.Draw(rt, "value"), Text: text.Draw(rt, "text"), Low: value.Draw(rt, "low"), High: value.Draw(rt, "high")})
		}
		c := chart.Chart{Alt: text.Draw(rt, "alt"), X: axis(), Y: axis(), Series: []chart.Series{{Points: points, Style: chart.Style(rapid.IntRange(0, 2).Draw(rt, "style"))}},
			Bands: []chart.Band{{From: value.Draw(rt, "from"), To: value.Draw(rt, "to")}}, Marks: []chart.Mark{{At: value.Draw(rt, "at")}}}
		r := chart.Rows{Alt: text.Draw(rt, "alt"), X: axis(), Rows: rows, Bars: rapid.Bool().Draw(rt, "bars")}
		for _, svg := range []string{c.SVG(), r.SVG()} {
			within(rt, svg)
		}
	})
}

func within(t *rapid.T, svg string) {
	if strings.Contains(svg, "<script") || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Fatal(svg)
	}
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil && !strings.Contains(err.Error(), "illegal character") && !strings.Contains(err.Error(), "invalid UTF-8") {
			t.Fatalf("%v in %s", err, svg)
		} else if err != nil {
			return // control characters are the caller's to clean
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "circle" {
			for _, a := range e.Attr {
				var at float64
				if fmt.Sscan(a.Value, &at); (a.Name.Local == "cx" || a.Name.Local == "cy") && (at < 0 || at > chart.Width) {
					t.Fatalf("%s is %v in %s", a.Name.Local, at, svg)
				}
			}
		}
	}
}
