package subject

// Blocked returns how many threads wait in each system call in which a thread waits for something other
// than its next task, by its name: fsync, nanosleep, flock; and in futex, if it is for a lock, where idle
// threads may queue after the one that waits for a task. It looks at the threads that the last Sample saw;
// if that is not possible it returns none.
func (s *Subject) Blocked() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reaped {
		return nil
	}
	return s.census.blocked()
}

// Blocked is what Subject.Blocked is.
func (f *Foreign) Blocked() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.census.blocked()
}
