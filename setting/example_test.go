package setting_test

import (
	"errors"
	"fmt"
	"time"

	"contend/setting"
)

// A Pause is executed as it is; its tags say how it is asked for.
type Pause struct {
	Length time.Duration `json:"length_ns" file:"pause.length" flag:"length,l" default:"1s" min:"1ms" max:"1h" words:"how long to wait"`
	Times  int           `json:"times" file:"pause.times" default:"3" min:"1" words:"*number* of pauses"`
	Spread float64       `json:"spread" file:"pause.spread" unit:"percent" min:"0%" below:"100%" words:"how much pauses differ"`
}

// Validate adds what bounds cannot say.
func (p Pause) Validate() error {
	err := setting.Check(p)
	if total := time.Duration(p.Times) * p.Length; total > time.Hour {
		err = errors.Join(err, setting.At(&p, &p.Times).OutOf(p.Times, "an hour in all"))
	}
	return err
}

func Example() {
	// What a file gives, with its lines, layer by layer.
	file := setting.Values{"pause.length": {Texts: []string{"2m"}, Places: []setting.Place{{Line: 3, Column: 9}}}}
	profile := setting.Values{"pause.times": {Texts: []string{"0"}, Places: []setting.Place{{Line: 7, Column: 14}}}}
	var p Pause
	for _, m := range setting.Mistakes(setting.Fill(&p, profile.Over(file), setting.InFile)) {
		fmt.Printf("pauses.yaml:%d:%d: %s %s\n", m.At.Line, m.At.Column, m.Path(), m.Text())
	}

	// The same on a command line: each Flag is a value for a flag package.
	given := setting.Values{}
	for _, f := range setting.Flags(setting.Of(p), given) {
		fmt.Printf("--%s: %s (%s)\n", f.Setting.Flag, f.Usage(), f)
	}
	given["times"] = setting.Value{Texts: []string{"5000"}}
	err := setting.Fill(&p, given, setting.InFlags)
	fmt.Println(setting.FlagErrors(errors.Join(err, p.Validate())))
	// Output:
	// pauses.yaml:7:14: pause.times is 0; expected 1 or more
	// --length: how long to wait (1s)
	// --times: `number` of pauses (3)
	// --spread: how much pauses differ ()
	// --times is 5000; expected an hour in all
}
