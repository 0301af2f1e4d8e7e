// Package subject runs the system under test as a child process: it hands over
// free addresses, waits until the process is ready, samples what it uses, and
// stops it.
//
// # Lifetime
//
// A subject leads a session, and so a process group, of its own; a Ctrl-C at
// the terminal does not reach it. It must stay in the foreground: when the
// process that Start started ends, whatever else lives in its session is
// killed. Nothing outlives this process either, even if it dies by kill -9:
//
//   - On Linux the kernel kills the subject when the thread that created it ends
//     (PR_SET_PDEATHSIG), so one locked thread starts it and lives as long as it
//     does. It costs nothing: waiting for a process needs a thread.
//   - For the subject's own children a guardian, one /bin/sh per subject, blocks
//     reading from a pipe whose other end only this process has. At its end of
//     file it kills the subject's process group and, if /proc lists them, the other
//     processes of its session.
//
// A container is not a descendant of the command that runs it, docker run or podman run,
// but ends with it: the command passes TERM on, and if it is killed, by us or with us,
// the container is killed by its id.
//
// A descendant that calls setsid (a daemon) is on its own, as it is after a logout.
// Rejected: a PID namespace (needs privileges, changes
// what the subject sees), cgroup.kill (needs a writable cgroup), a subreaper
// (does not survive our own death), a helper program (a library has none).
//
// # Output
//
// Standard output and standard error are always drained, and only their last lines
// are kept. They are read every few milliseconds and not for every line, so a subject
// that logs each request does not use up the cores that generate the load.
package subject
