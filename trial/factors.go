package trial

import (
	"contend/internal/perf"
	"contend/load"
	"contend/metric"
	"contend/stat"
)

// Factors are why a candidate's CPU time per operation differs from the baseline's, as three
// ratios whose product is that of the CPU time:
//
//	CPU time ÷ operation = instructions ÷ operation × cycles ÷ instruction × time ÷ cycle
//
// in user space and the kernel together. Time per cycle is the reciprocal of the processor's
// frequency, and includes what a hypervisor takes. The three share the level
// (stat.Effect.Among).
type Factors struct {
	Instructions         stat.Effect `json:"instructions"`
	CyclesPerInstruction stat.Effect `json:"cycles_per_instruction"`
	TimePerCycle         stat.Effect `json:"time_per_cycle"`
}

// factors returns those of a candidate at a level; nil where the kernel's events were
// not counted, or in fewer rounds than an interval needs.
func (t *Trials) factors(candidate string, level int) *Factors {
	var logs [3][]float64
	for n := 1; n <= t.roundsDone(); n++ {
		instructions, ok1 := t.roundLog(candidate, level, n, perOp(perf.Instructions, perf.KernelInstructions))
		cycles, ok2 := t.roundLog(candidate, level, n, perOp(perf.Cycles, perf.KernelCycles))
		seconds, ok3 := t.roundLog(candidate, level, n, metric.ServerCPUPerOp.Of)
		if ok1 && ok2 && ok3 {
			for i, log := range []float64{instructions, cycles - instructions, seconds - cycles} {
				logs[i] = append(logs[i], log)
			}
		}
	}
	var effects [len(logs)]stat.Effect
	for i := range logs {
		effect, err := stat.Paired(logs[i], t.confidenceAmong(len(logs)))
		if err != nil || !effect.Bounded() {
			return nil
		}
		effects[i] = effect.Among(len(logs))
	}
	return &Factors{effects[0], effects[1], effects[2]}
}

// perOp reads the sum of two events per operation; false where one was not counted.
func perOp(a, b perf.Event) func(*load.Result) (float64, bool) {
	return func(r *load.Result) (float64, bool) {
		ofA, ok1 := r.Counted.PerOp(a)
		ofB, ok2 := r.Counted.PerOp(b)
		if !ok1 || !ok2 {
			return 0, false
		}
		return ofA + ofB, true
	}
}
