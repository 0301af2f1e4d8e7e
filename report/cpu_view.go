package report

import "contend/metric"

// aboutCPU says once how a server's CPU figures may be read, if there are any.
func (d *Document) aboutCPU(v *view) {
	shown, shared := false, 0
	for _, r := range d.Results {
		if _, ok := metric.ServerCPUPerOp.Of(r.Cell.Result); ok {
			shown, shared = true, max(shared, r.Server.SharedCPUs)
		}
	}
	if !shown {
		return
	}
	v.say("CPU per operation is for comparing arms, not an absolute: on loopback the kernel charges part of the receiver's work to the sender.")
	if shared > 0 {
		v.say("Generator and servers could run on the same %s, so each takes CPU from the other, and throughput and times are of both together; "+
			"--server-cpus and --generator-cpus pin them apart.", plural(shared, "CPU"))
	}
}
