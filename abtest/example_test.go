package abtest_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"contend/abtest"
)

// words are so many that concatenating them copies two hundred times as much as
// joining them: more than any machine or race detector can turn round.
var words = strings.Fields(strings.Repeat("which concurrency design holds up under load and does it matter ", 40))

func join(n int) {
	for range n {
		_ = strings.Join(words, " ")
	}
}

func concatenate(n int) {
	for range n {
		text := ""
		for _, w := range words {
			text += w + " "
		}
		_ = text
	}
}

// An example of a test: it fails when the candidate is SLOWER or executes MORE
// instructions, which noise does not cause for one that takes a small part of the
// time, and of the instructions, in every round.
func TestJoinIsNotSlowerThanConcatenation(t *testing.T) {
	c := abtest.Config{Rounds: 6, Pairs: 2, Block: 1e6} // of 1 ms: this example should be short
	r := abtest.Run(t, c, abtest.Func{Name: "concatenate", Do: concatenate}, abtest.Func{Name: "join", Do: join})
	if testing.Verbose() {
		r.WriteBenchmarks(os.Stderr)
	}
	r.FailIfSlower(t)
	r.FailIfMoreInstructions(t)
}

func ExampleCompare() {
	r, err := abtest.Compare(context.Background(), "Words", abtest.Config{},
		abtest.Func{Name: "concatenate", Do: concatenate}, abtest.Func{Name: "join", Do: join})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r)               // the verdict in a sentence, both figures, warnings
	r.WriteBenchmarks(os.Stdout) // for benchstat -col /arm
}
