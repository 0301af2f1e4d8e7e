// Package abform writes a run as Apache Bench 2.3 does, for scripts that read it.
package abform

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"contend/errkind"
	"contend/load"
	"contend/report/plain"
)

// A Form is one run in the form of Apache Bench 2.3, line for line. The form's
// labels and columns are those that ab prints (support/ab.c of the Apache HTTP
// Server), because scripts read them; its figures are ours unless Strict is set.
type Form struct {
	Result *load.Result
	Times  *Times
	// What was asked, and what the first answer said.
	Host, Path string
	Port       int
	Server     string // the Server field
	Length     int64  // bytes of the body
	// TLS, TempKey and ServerName describe the handshake; empty leaves their
	// line out.
	TLS, TempKey, ServerName string
	// VariableLength is ab's -l, KeepAlive its -k, HasBody its -p and -u.
	VariableLength, KeepAlive, HasBody bool
	// KeptAlive counts the answers after which the connection was kept.
	KeptAlive int64
	// OtherLength counts the answers, none being of length 0, whose body was
	// not of Length. Only the strict form shows it.
	OtherLength int64
	// HidePercentages is ab's -d, HideSpread its -S.
	HidePercentages, HideSpread bool
	// Strict prints what ab itself would: whole milliseconds, and failed is only
	// what broke off or had another length.
	Strict bool
}

// counts are the counts of the form.
type counts struct {
	complete, failed, nonSuccess         int64
	connect, receive, length, exceptions int64 // parts of failed
}

// percentages are those of its table.
var percentages = [...]int{50, 66, 75, 80, 90, 95, 98, 99, 100}

// Text writes the report for a terminal.
func (r *Form) Text(w io.Writer) error {
	var b bytes.Buffer
	r.head(&b)
	r.counts(&b)
	r.rates(&b)
	r.times(&b)
	r.percentages(&b)
	if !r.Strict {
		r.summary(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (r *Form) head(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n\nServer Software:        %s\n", plain.Line(r.Server))
	fmt.Fprintf(b, "Server Hostname:        %s\n", r.Host)
	fmt.Fprintf(b, "Server Port:            %d\n", r.Port)
	for _, line := range [][2]string{{"SSL/TLS Protocol:       ", r.TLS}, {"Server Temp Key:        ", r.TempKey}, {"TLS Server Name:        ", r.ServerName}} {
		if line[1] != "" {
			fmt.Fprintf(b, "%s%s\n", line[0], line[1])
		}
	}
	fmt.Fprintf(b, "\nDocument Path:          %s\n", r.Path)
	fmt.Fprintf(b, "Document Length:        %s\n\n", r.length())
}

func (r *Form) length() string {
	if r.VariableLength {
		return "Variable"
	}
	return fmt.Sprintf("%d bytes", r.Length)
}

func (r *Form) counts(b *bytes.Buffer) {
	n := r.count()
	fmt.Fprintf(b, "Concurrency Level:      %d\n", r.Result.Concurrency)
	fmt.Fprintf(b, "Time taken for tests:   %.3f seconds\n", r.seconds())
	fmt.Fprintf(b, "Complete requests:      %d\n", n.complete)
	fmt.Fprintf(b, "Failed requests:        %d\n", n.failed)
	if n.failed > 0 {
		fmt.Fprintf(b, "   (Connect: %d, Receive: %d, Length: %d, Exceptions: %d)\n", n.connect, n.receive, n.length, n.exceptions)
	}
	if n.nonSuccess > 0 {
		fmt.Fprintf(b, "Non-2xx responses:      %d\n", n.nonSuccess)
	}
	if r.KeepAlive {
		fmt.Fprintf(b, "Keep-Alive requests:    %d\n", r.KeptAlive)
	}
	fmt.Fprintf(b, "Total transferred:      %d bytes\n", r.Result.BytesIn)
	if r.HasBody {
		fmt.Fprintf(b, "Total body sent:        %d\n", r.Result.BytesOut)
	}
	fmt.Fprintf(b, "HTML transferred:       %d bytes\n", r.Result.BodyIn)
}

func (r *Form) rates(b *bytes.Buffer) {
	n, seconds := r.count(), r.seconds()
	if n.complete == 0 || seconds == 0 {
		return
	}
	each := 1000 * seconds / float64(n.complete)
	fmt.Fprintf(b, "Requests per second:    %.2f [#/sec] (mean)\n", r.perSecond())
	fmt.Fprintf(b, "Time per request:       %.3f [ms] (mean)\n", each*float64(r.Result.Concurrency))
	fmt.Fprintf(b, "Time per request:       %.3f [ms] (mean, across all concurrent requests)\n", each)
	fmt.Fprintf(b, "Transfer rate:          %.2f [Kbytes/sec] received\n", r.kilobytes(r.Result.BytesIn))
	if r.HasBody {
		fmt.Fprintf(b, "                        %.2f kb/s sent\n", r.kilobytes(r.Result.BytesOut))
		fmt.Fprintf(b, "                        %.2f kb/s total\n", r.kilobytes(r.Result.BytesIn+r.Result.BytesOut))
	}
}

// perSecond is of right answers, and of all that ended in the strict form.
func (r *Form) perSecond() float64 {
	if r.Strict {
		return float64(r.count().complete) / r.seconds()
	}
	return r.Result.ThroughputPerSec
}

func (r *Form) kilobytes(n int64) float64 { return float64(n) / 1024 / r.seconds() }

// seconds are those that a caller had for the requests on average: until its last one had ended, which -t lets end.
func (r *Form) seconds() float64 {
	return (r.Result.Duration + r.Result.Overhang/time.Duration(max(1, r.Result.Concurrency))).Seconds()
}

// count sorts what became of the iterations into the form's few classes, so
// that failed is the sum of its four parts.
func (r *Form) count() counts {
	n := counts{nonSuccess: r.nonSuccess()}
	ended := r.Result.Completed + r.Result.Failed
	for kind, count := range r.Result.Errored {
		switch kind {
		case errkind.DNS, errkind.Dial, errkind.PortsExhausted, errkind.TLS, errkind.Refused:
			n.connect += count
		case errkind.Reset, errkind.Closed, errkind.Stale, errkind.Timeout:
			n.receive += count
		default:
			n.exceptions += count
		}
	}
	if r.Strict {
		closed := r.Result.Errored[errkind.Closed] + r.Result.Errored[errkind.Stale] // which ab calls complete
		n.complete = ended + closed + r.Result.Errored[errkind.Reset] + n.exceptions
		n.receive, n.length = n.receive-closed, r.OtherLength
		n.failed = n.connect + n.receive + n.length + n.exceptions
		return n
	}
	for _, f := range r.Result.Faults {
		if f.Check == lengthCheck {
			n.length += f.Count
		}
	}
	n.exceptions += r.Result.Failed - n.length
	n.failed = r.Result.Wrong()
	n.complete = r.Result.Completed + n.failed
	return n
}

// lengthCheck is the name of the check that an answer of another length than
// the first breaks.
const lengthCheck = "length"

func (r *Form) nonSuccess() int64 {
	var n int64
	for status, count := range r.Result.Statuses {
		if status < 200 || status > 299 {
			n += count
		}
	}
	return n
}

// summary is what the form does not have: the three figures that matter, and
// what went wrong with one example each.
func (r *Form) summary(b *bytes.Buffer) {
	n := r.count()
	fmt.Fprintf(b, "\nTransactions per second: %.2f\n", r.Result.ThroughputPerSec)
	latency := "none, nothing succeeded"
	if h := r.Times.total.hist; h.Count() > 0 {
		latency = fmt.Sprintf("%.3f [ms]", milliseconds(h.Mean()))
	}
	fmt.Fprintf(b, "Average latency:         %s\n", latency)
	share := 0.0
	if n.complete > 0 {
		share = 100 * float64(n.failed) / float64(n.complete)
	}
	fmt.Fprintf(b, "Errored responses:       %d (%.2f%%)\n", n.failed, share)
	for _, f := range r.Result.Faults {
		cause := f.Check
		if cause == "" {
			cause = fmt.Sprintf("status %d", f.Status)
		}
		writeCause(b, cause, f.Count, f.Example)
	}
	for _, kind := range errkind.All() {
		if count := r.Result.Errored[kind]; count > 0 {
			writeCause(b, string(kind), count, r.Result.Examples[kind])
		}
	}
	if r.Result.Unfinished > 0 {
		fmt.Fprintf(b, "Unfinished at the end:   %d\n", r.Result.Unfinished)
	}
}

// longestExample is how much of an error text is shown.
const longestExample = 120

func writeCause(b *bytes.Buffer, cause string, count int64, example string) {
	fmt.Fprintf(b, "   %s: %d", cause, count)
	if example, _, _ = strings.Cut(example, "\r\n\r\n"); example != "" {
		fmt.Fprintf(b, " (%s)", plain.Clip(plain.Line(example), longestExample))
	}
	b.WriteByte('\n')
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
