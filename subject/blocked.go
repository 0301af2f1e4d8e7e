package subject

// A Blocked thread waits in a system call in which a thread waits for something other than its next task: fsync, nanosleep,
// flock; or in futex, if it is for a lock, where idle threads may queue after the one that waits for a task.
type Blocked struct {
	Call string // its name
	PID  int
	// Instruction and Pointer are where it waits in user space, and where its stack begins: addresses of the process.
	Instruction, Pointer uint64
	// Stack is what it has there, up to 8 KiB; nil: it cannot be read, or the thread did not wait long enough.
	Stack []byte
}

// Blocked returns the threads that wait so. It looks at the threads that the last Sample saw; if that is not possible it
// returns none.
func (s *Subject) Blocked() []Blocked {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reaped {
		return nil
	}
	return s.census.blocked()
}

// Blocked is what Subject.Blocked is.
func (f *Foreign) Blocked() []Blocked {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.census.blocked()
}
