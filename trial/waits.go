package trial

import (
	"os"
	"time"

	"contend/internal/cpu"
)

const (
	// lookEvery is the time between two looks at what threads wait in: each opens a file for
	// each thread, a tenth of a millisecond for ten of them.
	lookEvery = 10 * time.Millisecond
	// lookRest is how often a look's own time passes at least until the next: of thousands of
	// threads it would take a core.
	lookRest = 20
)

// Waits are what threads waited for over a stretch of time.
type Waits struct {
	// Blocked is how many threads of a server waited on average in each system call.
	Blocked map[string]float64 `json:"blocked"`
	// MemoryPressure and DiskPressure are how long some thread of its machine waited for memory or a disk.
	MemoryPressure time.Duration `json:"memory_pressure_ns"`
	DiskPressure   time.Duration `json:"disk_pressure_ns"`
}

// watch looks what the threads of a server wait for until the returned function is called.
func watch(server Sampler) (stop func() Waits) {
	if far, ok := server.(Far); ok {
		return far.Watch()
	}
	return Watch(server)
}

// Watch looks what the threads of a server of this machine wait for until the returned function is called.
func Watch(server Sampler) (stop func() Waits) {
	root := os.DirFS("/")
	memory, disk := cpu.Pressure(root, "memory"), cpu.Pressure(root, "io")
	blocked := watchBlocked(server)
	return func() Waits {
		return Waits{blocked(), max(0, cpu.Pressure(root, "memory")-memory), max(0, cpu.Pressure(root, "io")-disk)}
	}
}

// watchBlocked looks what the threads of a server wait in until the returned function is called, which
// returns how many threads on average waited in each system call.
func watchBlocked(server Sampler) (stop func() map[string]float64) {
	sums, looks := map[string]float64{}, 0.0
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		timer := time.NewTimer(lookEvery)
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C:
			}
			looks++
			began := time.Now()
			for call, threads := range server.Blocked() {
				sums[call] += float64(threads)
			}
			timer.Reset(max(lookEvery, lookRest*time.Since(began)))
		}
	}()
	return func() map[string]float64 {
		close(done)
		<-ended
		for call := range sums {
			sums[call] /= looks
		}
		return sums
	}
}
