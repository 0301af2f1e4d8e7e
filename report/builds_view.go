package report

import (
	"fmt"
	"time"
)

// builds says what the arms were built from.
func (d *Document) builds(v *view) {
	if len(d.Builds) == 0 {
		return
	}
	v.say("Built by %s:", d.Builds[0].Build)
	for i, b := range d.Builds {
		v.bullet("%s", b.sentence())
		for _, other := range d.Builds[:i] {
			if !b.Changed && !other.Changed && b.Commit == other.Commit {
				v.bullet("%s and %s are the same commit.", other.Arm, b.Arm)
			}
		}
	}
}

func (b Build) sentence() string {
	text := fmt.Sprintf("%s: commit %s, %s", b.Arm, b.Commit, b.Subject)
	if b.Changed {
		text += ", and what was changed since"
	}
	if b.Kept {
		text += fmt.Sprintf("; built for an earlier comparison, %s", b.Built.UTC().Format(time.RFC3339))
	}
	return text
}
