package report

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"contend/errkind"
	"contend/failure"
	"contend/finding"
	"contend/internal/lazyregexp"
	"contend/internal/secret"
	"contend/internal/unit"
	"contend/load"
	"contend/report/plain"
	"contend/trial"
)

// nothingSentence says of a result without a successful response what there was instead.
func nothingSentence(r *load.Result) string {
	after, ceased := r.CeasedEarly()
	switch {
	case ceased:
		text := "The server stopped responding after the warm-up"
		if after > 0 {
			text = fmt.Sprintf("The server stopped responding after %s of the warm-up", window(after))
		}
		return text + insteadOf(r)
	case r.Planned == 0:
		return fmt.Sprintf("No request started within the %s measured", window(r.Duration))
	case r.Wrong() == 0 && r.Stopped == load.Interrupted:
		return "Interrupted before the first response"
	case r.Wrong() == 0:
		return fmt.Sprintf("No response within %v (plus %v grace)", r.Plan.Duration, r.Plan.Grace)
	case onlyTimeouts(r) && r.Plan.Timeout == 0: // a script has its own
		return fmt.Sprintf("Every request timed out: none of %s responses arrived in time", unit.Count(r.Wrong()))
	case onlyTimeouts(r):
		return fmt.Sprintf("Every request timed out: none of %s responses arrived within %v", unit.Count(r.Wrong()), r.Plan.Timeout)
	}
	var parts []string
	for _, one := range []struct {
		count int64
		what  string
	}{{r.Failed, "failed"}, {r.ErroredTotal(), "without a response"}, {r.Dropped, "never started"}, {r.Unfinished, "unfinished"}} {
		if one.count > 0 {
			parts = append(parts, unit.Count(one.count)+" "+one.what)
		}
	}
	return "No request succeeded: " + enumerated(parts)
}

// onlyTimeouts reports whether each iteration that came to an end took longer than the timeout.
func onlyTimeouts(r *load.Result) bool {
	return r.Completed == 0 && r.Wrong() > 0 && r.Errored[errkind.Timeout] == r.Wrong()
}

// ceasedSentence says of a result when no right answer came any more, and what came in their
// place; "": they did not cease.
func ceasedSentence(r *load.Result) string {
	after, ceased := r.Ceased()
	if !ceased {
		return ""
	}
	text := fmt.Sprintf("The server stopped responding after %s", window(after))
	if r.Plan.Duration > 0 {
		text += " of " + window(r.Plan.Duration)
	}
	return text + insteadOf(r)
}

// insteadOf goes on with what came most often instead of right answers.
func insteadOf(r *load.Result) string {
	list := kindsOf(r)
	if len(list) == 0 {
		return ": no response until the end"
	}
	most := slices.MaxFunc(list, func(a, b wrong) int { return cmp.Compare(a.count, b.count) })
	return ": " + most.what + ": " + most.example
}

// toFix says what to do about a result without a successful response.
func (d *Document) toFix(c trial.Cell) Step {
	_, ceased := c.CeasedEarly()
	switch r := c.Result; {
	case ceased:
		return advise("check the server log, then run the same command again")
	case d.Settle != "":
		return d.settles()
	case r.Wrong() == 0:
		return d.afterDoubt(finding.Incomplete.Code)
	case 2*r.Errored[errkind.Timeout] > r.Wrong() && r.Plan.Timeout == 0:
		return advise("allow more time for a response than the script does, or find out why it takes so long; then run the same command again")
	case 2*r.Errored[errkind.Timeout] > r.Wrong():
		return advise(fmt.Sprintf("allow more time for a response than the %v of --timeout, or find out why it takes so long; then run the same command again", r.Plan.Timeout))
	case unreached(r) != "":
		return advise(toReach(failure.Failure{Kind: unreached(r)}))
	case 2*r.Statuses[http.StatusMethodNotAllowed] > r.Wrong():
		return advise("send a method that the server allows there (-X), then run the same command again")
	case r.Failed < r.ErroredTotal():
		return advise("check the server log for why it does not respond, then run the same command again")
	}
	if isFlow(c.Result) {
		return advise("see which check or response is wrong: an iteration succeeds if all its checks pass and all responses are expected")
	}
	right := "--expect-status, --check"
	if scheme, _, _ := strings.Cut(c.Target, "://"); slices.Contains([]string{"ws", "wss", "tcp"}, scheme) { // which have no statuses
		right = "--check"
	}
	return advise(fmt.Sprintf("%s; correct the URL or the server, or define a correct response (%s)", d.lookAt(c), right))
}

// unreachedBy are the errors of iterations that mean that no connection is made, and why.
var unreachedBy = map[errkind.Kind]failure.Kind{errkind.Refused: failure.Refused, errkind.DNS: failure.NoHost, errkind.PortsExhausted: failure.NoLocalPort, errkind.TLS: failure.Handshake}

// unreached is why most iterations reached no server, as those of a script do to which nobody listens; "": most did.
func unreached(r *load.Result) failure.Kind {
	for kind, why := range unreachedBy {
		if 2*r.Errored[kind] > r.Wrong() {
			return why
		}
	}
	return ""
}

// lookAt says how to see a response of a server, and how to start it, where contend did.
func (d *Document) lookAt(c trial.Cell) string {
	const look = "look at a response"
	u, err := url.Parse(c.Target)
	i := slices.IndexFunc(d.Arms, func(a Arm) bool { return a.Name == c.Arm || len(d.Arms) == 1 })
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https":
		return look
	case i < 0 && len(d.Arms) == 0 && !d.isLab(), i >= 0 && isURL(d.Arms[i].Does):
		return fmt.Sprintf("%s (curl -i %s%s)", look, typed(plain.Line(c.Target)), d.asAsked())
	case i < 0:
		return look + " (curl -i)"
	}
	command := strings.NewReplacer("{{addr}}", u.Host, "{{host}}", u.Hostname(), "{{port}}", u.Port()).Replace(d.Arms[i].Does)
	if command == d.Arms[i].Does { // it has a port of its own, which contend had moved
		u.Host = net.JoinHostPort("localhost", u.Port())
	}
	return fmt.Sprintf("%s (start %s, then curl -i %s%s)", look, secret.Variables(plain.Line(command)), typed(plain.Line(u.String())), d.asAsked())
}

var ofRequest = lazyregexp.New(` (-X|-H|--(method|header|data|data-file|bearer|basic-auth))\b`)

// asAsked says that the request has more than a URL, where the command does.
func (d *Document) asAsked() string {
	if flags, _, _ := strings.Cut(d.Asked, " -- "); ofRequest().MatchString(flags) {
		return " with the command's method, headers and data"
	}
	return ""
}

// asTyped is the URL of a target as it was typed, where a command listens at another address each time.
func (d *Document) asTyped(target string) string {
	if len(d.Arms) != 1 {
		return target
	}
	return cmp.Or(d.Arms[0].URL, target)
}

// typed is a word in the quotes of a shell, with variables in place of secrets.
func typed(word string) string {
	if with := secret.Variables(word); with != word {
		return `"` + with + `"`
	}
	return "'" + word + "'"
}

// tells reports whether a warning says something where no figure does: most are about figures.
func tells(w finding.Warning) bool { return w.Is(finding.Interrupted) || w.Is(finding.MachineBusy) }

// telling are the warnings that say something there.
func (f *findings) telling() *findings {
	return &findings{list: slices.DeleteFunc(slices.Clone(f.list), func(w located) bool { return !tells(w.Warning) })}
}

// nothingRight has the cells of variants that were compared and gave no right answer, each the
// sum of all levels.
func (d *Document) nothingRight(list []Comparison) []trial.Cell {
	var names []string
	for _, c := range list {
		names = append(names, c.Baseline, c.Candidate)
	}
	byArm := map[string][]trial.Cell{}
	for _, r := range d.Results {
		if slices.ContainsFunc(list, func(c Comparison) bool { return c.Place == r.Place }) {
			byArm[r.Arm] = append(byArm[r.Arm], r.Cell)
		}
	}
	var without []trial.Cell
	for i, name := range names {
		if cells := byArm[name]; trial.NothingRight(cells) && slices.Index(names, name) == i {
			without = append(without, trial.MergeCells(cells))
		}
	}
	return without
}

// nothingScreen makes the page of a run or a sweep one without a successful response.
func (d *Document) nothingScreen(s *screen, c trial.Cell) *screen {
	s.first, s.mood = nothingSentence(c.Result), doubted
	if doubt := d.doubt(c); doubt != nil {
		s.trust = invalid(*doubt)
	}
	s.aside("%s", d.asTyped(c.Target))
	s.asides(wrongKinds(c.Result))
	d.expected(&s.view)
	s.next = d.toFix(c)
	for _, w := range c.Warnings {
		if tells(w) {
			s.care.addCode(w, "")
		}
	}
	return s
}

// withoutAnswers makes the page of a comparison one of variants without a successful response.
func (d *Document) withoutAnswers(s *screen, without []trial.Cell) {
	var names []string
	for _, c := range without {
		names = append(names, c.Arm)
		kinds := wrongKinds(c.Result)
		if len(without) > 2 {
			kinds = kinds[:1]
		}
		for _, text := range kinds {
			s.aside("%s: %s", c.Arm, text)
		}
	}
	s.first = "Nothing to compare: no successful response from " + enumerated(names)
	if !slices.ContainsFunc(without, func(c trial.Cell) bool { return !onlyTimeouts(c.Result) }) {
		s.first = fmt.Sprintf("Nothing to compare: every request to %s timed out, after %v", enumerated(names), without[0].Plan.Timeout)
	}
	s.next = d.toFix(without[0])
	s.care = s.care.telling()
}
