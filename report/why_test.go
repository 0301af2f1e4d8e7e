package report_test

import (
	"fmt"
	"time"

	"contend/report"
	"contend/trial"
	"contend/why"
)

// diagnosed adds to a comparison of lock and queue at one level what 12 rounds showed of why:
// lock works for 30 µs an operation, and queue as long and for what of says, in ns.
func diagnosed(d *report.Document, wait time.Duration, of ...why.Work) *report.Document {
	t := &d.Trials[0].Trials
	diagnosis := &trial.Diagnosis{Overhead: 0.031, Elapsed: 27 * time.Second}
	for round := 1; round <= why.LeastRounds; round++ {
		lock := why.Profile{Arm: t.Arms[0], Round: round, Concurrency: t.Design.Levels[0], Operations: 1000, Samples: 500, Lost: 1, CPU: 30 * time.Millisecond, Response: 300 * time.Millisecond}
		lock.Work = []why.Work{{Function: "orders/cmd/orders.(*Service).add", Time: lock.CPU}}
		queue := lock
		queue.Arm, queue.Work = t.Arms[1], lock.Work
		for _, w := range of {
			w.Time = w.Time*1000 + time.Duration(round)
			queue.CPU += w.Time
			queue.Work = append(queue.Work[:len(queue.Work):len(queue.Work)], w)
			queue.Functions = append(queue.Functions, why.Function{Name: w.Function, Time: w.Time})
		}
		if queue.Response = queue.Response * queue.CPU / lock.CPU; wait > 0 {
			queue.Response += 1000 * wait
			queue.Blocked = []why.Blocked{{Call: "fsync", Time: 900 * wait}}
		}
		diagnosis.Profiles = append(diagnosis.Profiles, lock, queue)
	}
	t.Why = diagnosis
	d.Derive()
	return d
}

// costly costs more in some kinds of work and in functions of its own, one of whose names is hostile.
func costly() *report.Document {
	work := []why.Work{
		{Kind: "scheduler", Function: "runtime.gopark", Time: 120}, {Kind: "scheduler", Function: "runtime.schedule", Time: 70},
		{Kind: "channels", Function: "runtime.chanrecv", Time: 80},
		{Kind: "hashing", Function: "crypto/internal/fips140/sha256.blockSHANI", Time: 300},
		{Function: "\x1b[31mred<script>|", Time: 190},
	}
	for i := range 8 {
		work = append(work, why.Work{Function: fmt.Sprintf("orders/queue.step%d", i), Time: time.Duration(180 - i)})
	}
	return diagnosed(oneLevel(20), 0, work...)
}

// waiting waits for a disk, with the same work.
func waiting() *report.Document { return diagnosed(oneLevel(20), 2*time.Millisecond) }

// unsampled could not be sampled.
func unsampled() *report.Document {
	d := oneLevel(20)
	d.Trials[0].Why = &trial.Diagnosis{Missing: []string{"samples are not allowed: kernel.perf_event_paranoid is 3: set it to 2"}}
	d.Derive()
	return d
}

// failed has a server that died while it was sampled.
func failed() *report.Document {
	d := oneLevel(20)
	d.Trials[0].Why = &trial.Diagnosis{Failed: "inputq: its process died: ended unasked: exit status 7; end of its stderr:\nno more \x1b[31mlicences"}
	d.Derive()
	return d
}

// untold has too few rounds in which both arms answered.
func untold() *report.Document {
	d := costly()
	d.Trials[0].Why.Profiles = d.Trials[0].Why.Profiles[:2*why.LeastRounds-1]
	d.Derive()
	return d
}
