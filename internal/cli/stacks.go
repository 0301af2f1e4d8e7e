package cli

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"

	"contend/experiment"
	"contend/report"
	"contend/why"
	"contend/why/flame"
)

// stackFiles are where the stacks of a diagnosis go.
type stackFiles struct {
	Profiles outputFolder `flag:"profiles" words:"with --why: write the CPU profile of each variant to NAME.pb.gz in this *folder*, for go tool pprof"`
	Flame    outputFile   `flag:"flame" words:"with --why: write a flame graph (SVG) of where B uses more CPU than A to this *file*"`
}

// need returns what is asked for that needs --why without it.
func (s *stackFiles) need(why bool) error {
	var mistakes []error
	for _, one := range []struct{ flag, path string }{{"--profiles", string(s.Profiles)}, {"--flame", string(s.Flame)}} {
		if one.path != "" && !why {
			mistakes = append(mistakes, fmt.Errorf("%s requires --why", one.flag))
		}
	}
	return errors.Join(mistakes...)
}

// checkPprof returns what is wrong with the URL that is given for it.
func (c *compareFlags) checkPprof() error {
	if c.Pprof == "" {
		return nil
	}
	if !c.Why {
		return errors.New("--pprof requires --why")
	}
	if err := experiment.CheckPprof(c.Pprof); err != nil {
		return fmt.Errorf("--pprof is %w", err)
	}
	return nil
}

// checkOwn reads the expression that is given for it, or returns what is wrong with it.
func (c *compareFlags) checkOwn() (err error) {
	switch {
	case c.Own == "":
		return nil
	case !c.Why:
		return errors.New("--own requires --why")
	}
	if c.owned, err = regexp.Compile(c.Own); err != nil {
		return fmt.Errorf("--own is %q; expected a regular expression, such as '^main\\.|/mylib/': %w", c.Own, err)
	}
	return nil
}

// write writes what is asked for, if anything was sampled; else it says that nothing was.
func (s *stackFiles) write(a *app, doc *report.Document) error {
	if s.Profiles == "" && s.Flame == "" || len(doc.Trials) != 1 || doc.Trials[0].Why == nil {
		return nil
	}
	trials := doc.Trials[0]
	var arms [][]why.Stacks
	for _, arm := range trials.Arms {
		levels := trials.Why.StacksOf(arm)
		if levels == nil {
			fmt.Fprintln(a.Err, "why: nothing was sampled, so --profiles and --flame write nothing")
			return nil
		}
		arms = append(arms, levels)
	}
	if s.Flame != "" {
		if err := replaceFile(string(s.Flame), flame.Graph(arms[0], arms[1])); err != nil {
			return err
		}
	}
	return s.writeProfiles(arms)
}

func (s *stackFiles) writeProfiles(arms [][]why.Stacks) error {
	if s.Profiles == "" {
		return nil
	}
	if err := os.MkdirAll(string(s.Profiles), 0o755); err != nil {
		return err
	}
	for _, levels := range arms {
		var b bytes.Buffer
		if err := flame.Profile(levels).Write(&b); err != nil {
			return err
		}
		// A revision may be called a/b.
		if err := replaceFile(filepath.Join(string(s.Profiles), url.PathEscape(levels[0].Arm)+".pb.gz"), b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
