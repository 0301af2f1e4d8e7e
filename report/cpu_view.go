package report

import (
	"net"
	"net/url"
	"slices"

	"contend/metric"
)

// aboutCPU says once how a server's CPU figures may be read, if there are any, and that
// generator and server take CPU from each other where they can.
func (d *Document) aboutCPU(v *view) {
	const remedy = "--generator-cpus, and --server-cpus or taskset for the server, pin them apart."
	shown, shared := false, 0
	for _, r := range d.Results {
		if _, ok := metric.ServerCPUPerOp.Of(r.Cell.Result); ok {
			shown, shared = true, max(shared, r.Server.SharedCPUs)
		}
	}
	if shown {
		v.say("CPU per operation is for comparing variants, not an absolute: on loopback the kernel charges part of the receiver's work to the sender.")
	}
	switch {
	case shared > 0:
		v.say("Generator and server could run on the same %s, so each takes CPU from the other, and throughput and times are of both together; %s",
			plural(shared, "CPU"), remedy)
	case !shown && d.Environment.GeneratorCPUs == "" && slices.ContainsFunc(d.Results, Result.overLoopback):
		v.say("The server was reached over loopback, and what it used is not known: if it runs here, it and the generator take CPU from each other; %s", remedy)
	}
}

// overLoopback reports whether the target is at a loopback address, by its URL.
func (r Result) overLoopback() bool {
	u, err := url.Parse(r.Target)
	if err != nil || r.Local || r.Uplink != nil || r.Completed == 0 {
		return false
	}
	host := u.Hostname()
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
