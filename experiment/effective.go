package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"contend/expect"
	"contend/protocol"
	"contend/setting"
	"contend/subject"
)

// target checks the fields of a target at their places; any may be unset.
func (v *validator) target(path string, t protocol.Target) {
	if t.Get("rows") == "" {
		for _, found := range subject.InBraces(atPort().ReplaceAllString(t.URL(), "$1")) {
			if !urlPlaceholder().MatchString(found) {
				v.add(path+".url", "has the placeholder %s; expected {{addr}}, {{port}} as the port, the values of docs/data-and-checks.md, and (with rows) names of columns", found)
			}
		}
	}
	for _, m := range setting.Mistakes(t.Check()) {
		v.targetMistake(path+"."+m.Path(), m)
	}
}

// targetMistake notes a mistake at the place of its value.
func (v *validator) targetMistake(path string, m *setting.Mistake) {
	at := m.At
	if at == (setting.Place{}) {
		at = v.place(path)
	}
	if !v.unread[path] {
		m.Setting.Path, m.In, m.Index = path, "", -1
		v.mistakes.note(at, m)
	}
	if m.Unreadable {
		v.unread[path] = true
	}
}

// wholeTarget notes what is wrong with a target as it is opened, at the layer
// that gives it, if nothing is wrong with the value alone. It skips a target
// that lacks something that the file gives for it.
func (v *validator) wholeTarget(prefix, arm string, t protocol.Target) {
	if t.URL() == "" || v.unreadBelow(targetPaths(prefix, arm)) {
		return
	}
	for _, m := range setting.Mistakes(t.Validate()) {
		path := cmp.Or(m.Path(), "url")
		name, _, _ := strings.Cut(path, "[")
		if path = strings.TrimSuffix(v.whereTarget(prefix, arm, name), name) + path; !v.wrongAlone[path] {
			v.targetMistake(path, m)
		}
	}
}

// unreadBelow reports whether a value at one of the paths or below was not read.
func (v *validator) unreadBelow(paths []string) bool {
	for unread := range v.unread {
		if slices.ContainsFunc(paths, func(path string) bool { return unread == path || strings.HasPrefix(unread, path+".") }) {
			return true
		}
	}
	return false
}

// effective checks the parts as they will run, with the defaults of the file
// and under every profile: what is missing, and what does not fit together.
func (v *validator) effective() {
	if v.file.Status == planned {
		return
	}
	for _, m := range v.list {
		v.wrongAlone[m.Path()] = true
	}
	for _, profile := range Profiles() {
		for i, own := range v.file.parts() {
			asked := v.file.asked(own, profile)
			p := v.file.part(own, asked)
			prefix := ""
			if len(v.file.Parts) > 0 {
				prefix = partPath(i) + "."
			}
			if profile == Profiles()[0] { // profiles change neither arms nor targets
				v.effectiveArms(own, prefix, p)
			}
			v.required(prefix, profile, asked, p)
			v.baseline(asked, p)
			v.asRun(prefix, asked, p)
			for _, err := range p.checkCount(v.file.Subjects) {
				v.addSentence(prefix+"compare.count", "%v", err)
			}
		}
	}
}

// required looks for settings that the part needs and nothing gives.
func (v *validator) required(prefix, profile string, asked setting.Values, p Part) {
	for _, m := range setting.Mistakes(setting.Missing(settings(), asked)) {
		isBaseline := m.Setting.Name == "baseline"
		if isBaseline && (len(p.Arms) < 2 || p.Swept || v.anyUnread("arms", "subjects")) || !isBaseline && p.fromDocuments() {
			continue
		}
		if path := prefix + m.Setting.Path; !v.anyUnread(segments(path)...) {
			m.Problem += v.under(profile)
			v.addSettings(path, []*setting.Mistake{m})
		}
	}
}

// asRun asks those who will run the part, who may know more.
func (v *validator) asRun(prefix string, asked setting.Values, p Part) {
	for _, name := range sortedKeys(p.Arms) {
		if !p.fromDocuments() {
			v.wholeTarget(prefix, name, p.Arms[name].Target)
		}
	}
	if v.unread["load"] || v.anyUnread("duration", "vus") {
		return
	}
	for _, m := range setting.Mistakes(p.checkSettings()) {
		given, ok := asked.Of(m.Setting, setting.InFile)
		if !ok {
			v.addSettings(prefix+m.Setting.Path, []*setting.Mistake{m})
			continue
		}
		if m.At = given.Places[0]; m.Index >= 0 {
			m.At = given.Places[m.Index]
		}
		v.addSettings(given.Path, []*setting.Mistake{m})
	}
}

func (v *validator) effectiveArms(own FilePart, prefix string, p Part) {
	if len(p.Arms) < 2 && !p.Swept && !p.fromDocuments() && !v.anyUnread("arms", "subjects") {
		v.add(v.where(prefix+"arms", "arms", "subjects"),
			"has %d; expected at least 2 servers (key subjects) or variants (key arms) to compare", len(p.Arms))
	}
	for _, name := range sortedKeys(p.Arms) {
		switch {
		case !p.fromDocuments():
			v.effectiveTarget(prefix, name, p)
		case p.Arms[name].Document == "":
			v.missing(prefix+"arms."+name+".document", "the other variants have one, and all or none do")
		}
	}
	if p.fromDocuments() && p.Swept {
		v.addSentence(prefix+"sweep", "variants with a document measure by themselves, so there are no levels to sweep")
	}
	if own.Expect == nil {
		prefix = "" // those of the file
	}
	for n, text := range p.Expect {
		x, err := expect.Parse(text)
		if err != nil {
			continue // reported at its place
		}
		for _, arm := range x.Arms() {
			if _, ok := p.Arms[arm]; !ok && !v.anyUnread("arms", "subjects") {
				v.addOnce(fmt.Sprintf("%sexpect[%d]", prefix, n), "names %q, which is not a variant%s%s", arm, ofPart(p.Name), oneOf(arm, sortedKeys(p.Arms)))
			}
		}
	}
}

// ofPart names a part that has a name.
func ofPart(name string) string {
	if name == "" {
		return ""
	}
	return " of part " + name
}

// effectiveTarget checks what an arm is driven through.
func (v *validator) effectiveTarget(prefix, name string, p Part) {
	arm := p.Arms[name]
	url := arm.Target.URL()
	path := v.whereTarget(prefix, name, "url")
	s, ok := v.file.Subjects[arm.Subject]
	switch {
	case url == "":
		v.missing(path, "the variant %s%s has no url to drive", name, ofPart(p.Name))
	case addressed(url) && arm.Subject == "":
		v.addSentence(path, "%q has {{addr}} or {{port}}, but the variant %s%s names no server whose address that is", url, name, ofPart(p.Name))
	case ok && s.URL == "" && s.isStarted() && !v.wrongAlone[path]:
		err := s.CheckAddress(arm.Target)
		if err != nil && addressed(url) {
			v.addSentence("subjects."+arm.Subject, "%v, so the variant %s cannot be reached at %q", err, name, url)
		} else if err != nil {
			v.addOnce(path, "%s", noPlace(arm.Target))
		}
	}
}

// targetPaths are where a file can give settings of an arm's target, what hides
// others first.
func targetPaths(prefix, arm string) []string {
	return []string{prefix + "arms." + arm + ".target", "arms." + arm + ".target", prefix + "target", "target"}
}

func (v *validator) whereTarget(prefix, arm, field string) string {
	paths := targetPaths(prefix, arm)
	for i := range paths {
		paths[i] += "." + field
	}
	return v.where(paths...)
}

// where returns the first path that the text gives, or else the last.
func (v *validator) where(paths ...string) string {
	for _, path := range paths {
		if v.given(path) {
			return path
		}
	}
	return paths[len(paths)-1]
}

// under names the profile if any is in the file.
func (v *validator) under(profile string) string {
	has := func(s Setup) bool { return len(s.Profiles) > 0 }
	if has(v.file.Setup) || slices.ContainsFunc(v.file.Parts, func(p FilePart) bool { return has(p.Setup) }) {
		return " (profile " + profile + ")"
	}
	return ""
}

// baseline checks that the arm exists.
func (v *validator) baseline(asked setting.Values, p Part) {
	given, ok := asked["compare.baseline"]
	if _, known := p.Arms[p.Baseline]; !ok || known || len(p.Arms) < 2 || p.Swept || v.anyUnread("arms", "subjects") {
		return
	}
	v.addOnce(given.Path, "is %q, which is not a variant%s%s", p.Baseline, ofPart(p.Name), oneOf(p.Baseline, sortedKeys(p.Arms)))
}
