package cli

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"time"

	"contend/internal/telemetry"
	"contend/load"
	"contend/report"
)

// outlets are where figures go while something is measured.
type outlets struct {
	OTLP       telemetry.Collector `flag:"otlp" words:"send metrics to an OpenTelemetry collector while running: *URL*, http://HOST:4318 or grpc://HOST:4317"`
	Prometheus string              `flag:"prometheus" words:"expose metrics for Prometheus while running, at this *address*, such as 127.0.0.1:9464"`
}

// config is how figures are sent, of a command about a target.
func (o *outlets) config(command, target string) (telemetry.Config, error) {
	c, err := o.OTLP.Configure(os.LookupEnv, map[string]string{
		"service.name": "contend", "service.version": version(), "service.instance.id": rand.Text(), "contend.command": command, "contend.target": target,
	})
	if o.OTLP == "" {
		return c, nil
	}
	return c, err
}

// check returns what is wrong with what the environment asks for.
func (o *outlets) check() error {
	_, err := o.config("", "")
	return err
}

// told are the outlets of a command under way.
type told struct {
	app      *app
	exporter *telemetry.Exporter // nil: nobody asked for it
	page     *telemetry.Page     // nil: nobody asked for it
	run      telemetry.Run
	last     time.Time // that between told
}

// tell opens the outlets that are asked for.
func (a *app) tell(o *outlets, command, target string, p *progress) (*told, error) {
	t := &told{app: a}
	p.told = t
	if o.Prometheus != "" {
		listener, err := net.Listen("tcp", o.Prometheus)
		if err != nil {
			return nil, fmt.Errorf("--prometheus: %w", err)
		}
		fmt.Fprintf(a.Err, "Prometheus: http://%s/metrics\n", listener.Addr())
		t.page = telemetry.Serve(listener)
	}
	if o.OTLP == "" {
		return t, nil
	}
	config, err := o.config(command, a.secrets.Hide(target))
	if err == nil {
		t.exporter, err = telemetry.NewExporter(config, p.note)
	}
	if err != nil {
		t.end()
		return nil, fmt.Errorf("--otlp: %w", err)
	}
	return t, nil
}

// follow has what is shown be sent as it comes.
func (t *told) follow() {
	if t.exporter != nil {
		t.exporter.Follow()
	}
}

// progress tells of a run under way.
func (t *told) progress(now load.Progress) {
	if t.exporter != nil || t.page != nil {
		t.show([]telemetry.Reading{t.run.Reading(now)})
	}
}

func (t *told) show(readings []telemetry.Reading) {
	if t.exporter != nil {
		t.exporter.Show(readings)
	}
	if t.page != nil {
		t.page.Show(readings)
	}
}

// between reports what a document has so far, while nothing is measured: at most about once a
// second.
func (t *told) between(soFar func() *report.Document) {
	if t == nil || soFar == nil || t.exporter == nil && t.page == nil || time.Since(t.last) < time.Second {
		return
	}
	t.last = time.Now()
	t.results(soFar())
}

// results tells of what a document has.
func (t *told) results(d *report.Document) {
	readings := readingsOf(d)
	if t.exporter != nil {
		t.exporter.Between(readings)
	}
	if t.page != nil {
		t.page.Show(readings)
	}
}

// readingsOf are those of the results of a document, each under labels of its own.
func readingsOf(d *report.Document) (list []telemetry.Reading) {
	known := map[telemetry.Labels]bool{}
	for _, r := range d.Results {
		labels := telemetry.Labels{Variant: r.Arm, Concurrency: r.Concurrency}
		if !known[labels] {
			known[labels] = true
			list = append(list, telemetry.Of(r.Result, labels))
		}
	}
	return list
}

// endWith is end, for a document whose results are exported last.
func (t *told) endWith(d *report.Document) {
	if t.exporter != nil {
		t.exporter.Show(readingsOf(d))
	}
	t.end()
}

// end sends what is left, and says what did not arrive.
func (t *told) end() {
	if t.page != nil {
		t.page.Close()
	}
	if t.exporter == nil {
		return
	}
	if text := t.exporter.End().String(); text != "" {
		fmt.Fprintln(t.app.Err, text)
	}
}
