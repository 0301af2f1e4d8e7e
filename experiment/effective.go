package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"contend/protocol"
	"contend/setting"
	"contend/trial"
)

// target checks the fields of a target where they stand; any may be unset.
func (v *validator) target(path string, t protocol.Target) {
	if t.Get("rows") == "" {
		v.placeholders(path+".url", t.URL(), urlPlaceholder)
	}
	for _, m := range setting.Mistakes(t.Check()) {
		v.targetMistake(path+"."+m.Path(), m)
	}
}

// targetMistake notes a mistake at the place of its value.
func (v *validator) targetMistake(path string, m *setting.Mistake) {
	at := v.place(path)
	if m.At != (setting.Place{}) {
		at = place{m.At.Line, m.At.Column}
	}
	if !v.unread[path] {
		v.addAt(at, path, "%s", m.Text())
	}
}

// wholeTarget notes what is wrong with a target as it is opened, at the layer
// that gives it.
func (v *validator) wholeTarget(prefix, arm string, t protocol.Target) {
	for _, m := range setting.Mistakes(t.Validate()) {
		path := cmp.Or(m.Path(), "url")
		name, _, _ := strings.Cut(path, "[")
		v.targetMistake(strings.TrimSuffix(v.whereTarget(prefix, arm, name), name)+path, m)
	}
}

// effective checks the parts as they will run, with the defaults of the file
// and under every profile: what is missing, and what does not fit together.
func (v *validator) effective() {
	if v.file.Status == Planned {
		return
	}
	for _, profile := range Profiles() {
		for i, p := range v.file.effectiveParts(profile) {
			prefix := ""
			if len(v.file.Parts) > 0 {
				prefix = partPath(i) + "."
			}
			if profile == Profiles()[0] { // profiles change neither arms nor targets
				v.effectiveArms(i, prefix, p)
			}
			if !p.fromDocuments() {
				v.effectiveLoad(prefix, profile, p)
			}
			v.effectiveBaseline(prefix, profile, p)
			if len(v.list) == 0 {
				v.asRun(prefix, p)
			}
		}
	}
	v.cleared()
}

// asRun asks those who will run the part, who may know more.
func (v *validator) asRun(prefix string, p Part) {
	if p.fromDocuments() {
		design := p.design(Options{})
		design.Block = time.Second // that of a run is not known before
		if err := design.Validate(); err != nil {
			v.add(prefix+"compare", "%v", err)
		}
		return
	}
	for _, name := range sortedKeys(p.Arms) {
		v.wholeTarget(prefix, name, p.Arms[name].Target.Over(p.Target))
	}
	if _, err := p.Load.plan(); err != nil {
		v.add(prefix+"load", "%v", err)
	}
	if p.sweeps() {
		if err := p.sweepDesign(0).Validate(); err != nil {
			v.add(prefix+"sweep", "%v", err)
		}
	} else if err := p.design(Options{}).Validate(); err != nil {
		v.add(prefix+"compare", "%v", err)
	}
}

func (v *validator) effectiveArms(i int, prefix string, p Part) {
	if len(p.Arms) < 2 && !p.sweeps() && !p.fromDocuments() && !v.anyUnread("arms", "subjects") {
		v.add(v.where(prefix+"arms", "arms", "subjects"),
			"a comparison needs at least 2 arms, or subjects in their place: there are %d", len(p.Arms))
	}
	for _, name := range sortedKeys(p.Arms) {
		switch {
		case !p.fromDocuments():
			v.effectiveTarget(prefix, name, p)
		case p.Arms[name].Document == "":
			v.missing(prefix+"arms."+name+".document", "the other arms have one, and all or none do")
		}
	}
	if p.fromDocuments() && p.sweeps() {
		v.add(prefix+"sweep", "arms with a document measure by themselves, so there are no levels to sweep")
	}
	if len(v.file.Parts) > 0 && v.file.Parts[i].Expect == nil {
		prefix = "" // those of the file
	}
	for n, text := range p.Expect {
		x, err := trial.ParseExpectation(text)
		if err != nil {
			continue // said where it stands
		}
		for _, arm := range x.Arms() {
			if _, ok := p.Arms[arm]; !ok && !v.anyUnread("arms", "subjects") {
				v.addOnce(fmt.Sprintf("%sexpect[%d]", prefix, n), "%q is no arm%s: %s", arm, in(p), oneOf(arm, sortedKeys(p.Arms)))
			}
		}
	}
}

// in names a part that has a name.
func in(p Part) string {
	if p.Name == "" {
		return ""
	}
	return " of part " + p.Name
}

// effectiveTarget checks what an arm is driven through.
func (v *validator) effectiveTarget(prefix, name string, p Part) {
	arm := p.Arms[name]
	url := arm.Target.Over(p.Target).URL()
	path := v.whereTarget(prefix, name, "url")
	s, ok := v.file.Subjects[arm.Subject]
	usesAddr := strings.Contains(url, "{{addr}}")
	switch {
	case url == "":
		v.missing(path, "the arm %s%s has no url to drive", name, in(p))
	case usesAddr && arm.Subject == "":
		v.add(path, "%q has {{addr}}, but the arm %s%s names no subject whose address that is", url, name, in(p))
	case usesAddr && ok && s.URL == "" && s.Command+s.Serve != "" && !s.getsAddr():
		v.add("subjects."+arm.Subject, "the command has neither {{addr}} nor {{port}}, so the arm %s cannot be reached at %q", name, url)
	}
}

// getsAddr says whether the default address is handed over to the command.
func (s Subject) getsAddr() bool {
	all := strings.Join(slices.Concat([]string{s.Command, s.Serve}, s.Env, slices.Collect(maps.Values(s.Files))), " ")
	return strings.Contains(all, "{{addr}}") || strings.Contains(all, "{{port}}")
}

func (v *validator) whereTarget(prefix, arm, field string) string {
	return v.where(prefix+"arms."+arm+".target."+field, "arms."+arm+".target."+field,
		prefix+"target."+field, "target."+field)
}

// where returns the first path that the text gives, or else the last: in a File
// made in memory nothing is given.
func (v *validator) where(paths ...string) string {
	for _, path := range paths {
		if v.given(path) {
			return path
		}
	}
	return paths[len(paths)-1]
}

// overridden lists the places of a field that profiles may set, the strongest
// first.
func overridden(prefix, profile, field string) []string {
	return []string{prefix + "profiles." + profile + "." + field, "profiles." + profile + "." + field,
		prefix + field, field}
}

func (v *validator) effectiveLoad(prefix, profile string, p Part) {
	if len(p.Load.VUs) == 0 {
		v.missing(prefix+"load.vus", "the levels of concurrency, as in [1, 10, 100]%s", v.under(profile))
	}
	if p.Load.Duration == 0 {
		v.missing(prefix+"load.duration", "the measured length of a block, as in 250ms%s", v.under(profile))
	}
	if p.Load.Rate != "" && p.Load.Think != 0 {
		v.add(v.where(overridden(prefix, profile, "load.think")...),
			"%v does not go with rate %q: arrivals of an open model do not wait", p.Load.Think, p.Load.Rate)
	}
}

// under names the profile if any is in the file.
func (v *validator) under(profile string) string {
	has := func(s Setup) bool { return len(s.Profiles) > 0 }
	if has(v.file.Setup) || slices.ContainsFunc(v.file.Parts, func(p Part) bool { return has(p.Setup) }) {
		return " (profile " + profile + ")"
	}
	return ""
}

func (v *validator) effectiveBaseline(prefix, profile string, p Part) {
	b := p.Compare.Baseline
	if _, ok := p.Arms[b]; ok || len(p.Arms) < 2 || p.sweeps() || v.anyUnread("arms", "subjects") {
		return
	}
	path := v.where(overridden(prefix, profile, "compare.baseline")...)
	if b == "" {
		v.missing(path, "the arm%s that the others are compared with: %s", in(p), oneOf("", sortedKeys(p.Arms)))
		return
	}
	v.addOnce(path, "%q is no arm%s: %s", b, in(p), oneOf(b, sortedKeys(p.Arms)))
}

// cleared refuses fields that the text sets to nothing where that would
// silently leave the value that they were to override.
func (v *validator) cleared() {
	parts := v.file.effectiveParts("")
	for i, p := range v.file.Parts {
		prefix := partPath(i) + "."
		v.clears(prefix+"load", v.file.Load, p.Load)
		v.clears(prefix+"compare", v.file.Compare, p.Compare)
		v.clears(prefix+"sweep", v.file.Sweep, p.Sweep)
		v.clearingProfiles(prefix, parts[i], p.Profiles)
	}
	v.clearingProfiles("", parts[0], v.file.Profiles)
}

func (v *validator) clearingProfiles(prefix string, base Part, profiles map[string]Profile) {
	for _, name := range sortedKeys(profiles) {
		v.clears(prefix+"profiles."+name+".load", base.Load, profiles[name].Load)
		v.clears(prefix+"profiles."+name+".compare", base.Compare, profiles[name].Compare)
		v.clears(prefix+"profiles."+name+".sweep", base.Sweep, profiles[name].Sweep)
	}
}

func (v *validator) clears(path string, base, over any) {
	from, to := reflect.ValueOf(base), reflect.ValueOf(over)
	for _, f := range fieldsOf(from.Type()) {
		at := path + "." + f.name
		was := from.FieldByIndex(f.Index)
		if v.given(at) && !was.IsZero() && to.FieldByIndex(f.Index).IsZero() {
			v.add(at, "an empty value does not override %v: leave the other out and set it where it is needed", was)
		}
	}
}
