package load

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Each length is in one class, at most a 32nd of the length wide, and longer
// ones are in no lower class.
func TestSizeClasses(t *testing.T) {
	for _, tt := range []struct {
		length int64
		class  int
	}{
		{0, 0}, {1, 1}, {63, 63}, // one each
		{64, 64}, {65, 64}, {127, 95}, {128, 96}, // 32 classes from 64 up, two lengths each
		{1<<63 - 1, 57<<5 + 63},
	} {
		if got := sizeClass(tt.length); got != tt.class {
			t.Errorf("%d is in class %d, want %d", tt.length, got, tt.class)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64Range(0, 1<<62).Draw(t, "a"), rapid.Int64Range(0, 1<<62).Draw(t, "b")
		if a > b {
			a, b = b, a
		}
		if sizeClass(a) > sizeClass(b) || sizeClass(a) == sizeClass(b) && b-a > a/32 {
			t.Fatalf("%d and %d are in the classes %d and %d", a, b, sizeClass(a), sizeClass(b))
		}
	})
}

// Quantiles are within 3.2% of those of the sorted lengths, and exact if all
// bodies have the same length.
func TestBodyQuantile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.Int64Range(0, 1<<30), 1, 50).Draw(t, "lengths")
		if rapid.Bool().Draw(t, "alike") {
			lengths = slices.Repeat(lengths[:1], len(lengths))
		}
		var a Answers
		for _, n := range lengths {
			a.record(200, n, &Content{})
		}
		slices.Sort(lengths)
		for _, rank := range []int{1, (len(lengths) + 1) / 2, len(lengths)} {
			got, want := a.BodyQuantile((float64(rank)-0.5)/float64(len(lengths))), lengths[rank-1] // in the midst of its share
			if off := max(got-want, want-got); off > want*32/1000 || lengths[0] == want && lengths[len(lengths)-1] == want && off != 0 {
				t.Fatalf("rank %d of %v is %d", rank, lengths, got)
			}
		}
	})
}

// A hostile server can only add a bounded number of kinds and lengths, and nothing is lost.
func TestAnswersAreBounded(t *testing.T) {
	var a Answers
	const answers = 1 << 17
	for i := range int64(answers) {
		a.record(200+int(i%7), i*i*i, &Content{Type: []byte{byte(i), byte(i >> 8)}})
	}
	bodies := int64(0)
	for _, b := range a.Bodies {
		bodies += b.Count
	}
	if a.Count() != answers || bodies != answers || len(a.Kinds) > maxStatuses+1 || len(a.Bodies) > 63<<5 {
		t.Errorf("%d answers: %d of %d kinds, %d of %d lengths", answers, a.Count(), len(a.Kinds), bodies, len(a.Bodies))
	}
}

// A damaged document may hold anything: adding it up ends.
func TestImpossibleAnswers(t *testing.T) {
	var a Answers
	a.add(&Answers{Bodies: []Bodies{{0, 5}, {-1, -5}, {3, -5}, {1, 1}}, Kinds: []AnswerKind{{Status: 1, Count: -1}}})
	a.BodyQuantile(0.5)
	if a.Count() != -1 || (*Answers)(nil).Count() != 0 {
		t.Errorf("%+v counts %d, want -1, and nothing 0", a, a.Count())
	}
}

func TestRecordingAnswersDoesNotAllocate(t *testing.T) {
	var a Answers
	content, moved := Content{Type: []byte("text/html")}, Content{Redirect: true, Location: []byte("/login")}
	record := func() { a.record(200, 2000, &content); a.record(302, 0, &moved) }
	record()
	if got := testing.AllocsPerRun(100, record); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkAnswers(b *testing.B) {
	var a Answers
	content := Content{Type: []byte("text/html")}
	b.ReportAllocs()
	for b.Loop() {
		a.record(200, 2000, &content)
	}
}

// A verdict about events that are counted in runs of their own rests on what was
// answered in these.
func TestCountedRunsKeepTheirAnswers(t *testing.T) {
	r := &Result{Counts: NewCounts()}
	r.Record(Iteration{}, 1, &Outcome{Status: 200, BodyIn: 13, Content: &Content{}}, nil)
	sum := Merge(r.CountedOnly(nil), r.CountedOnly(nil))
	if sum.Completed != 0 || sum.Answers.Count() != 2 || sum.Answers.BodyQuantile(0.5) != 13 {
		t.Errorf("%d completed, answers %+v, want none and two", sum.Completed, sum.Answers)
	}
}
