package subject

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"contend/failure"
	"contend/internal/lazyregexp"
)

// A container is the one that a subject's process, `docker run` or `podman run`, is the
// client of: its processes are not that one's descendants.
type container struct {
	client  *exec.Cmd // that runs it
	before  []string  // the words of the client before run, without its program
	cidfile string    // where the client writes the container's id
	group   *group    // of its processes, once it is found
}

// clients are the programs whose process is only the client of a container.
var clients = []string{"docker", "podman"}

// switches are the options of clients that are not followed by a word.
var switches = []string{"-D", "--debug", "-r", "--remote", "--syslog", "--tls", "--tlsverify"}

// RunsContainer reports whether a command is only the client of a container, in which its program runs.
func RunsContainer(command []string) bool { return len(command) > 0 && runAt(command) > 0 }

// runAt returns where a command of a container's client has the word run; 0: it does not
// run a container.
func runAt(command []string) int {
	if !slices.Contains(clients, filepath.Base(command[0])) {
		return 0
	}
	for i := 1; i < len(command); i++ {
		switch word := command[i]; {
		case word == "run":
			return i
		case strings.HasPrefix(word, "-"):
			if !strings.Contains(word, "=") && !slices.Contains(switches, word) {
				i++ // its value
			}
		case word != "container":
			return 0
		}
	}
	return 0
}

// The options of run that are not followed by a word: the letters, and the words of
// docker and podman.
const runLetters = "ditPq"

var runSwitches = []string{"--detach", "--disable-content-trust", "--env-host", "--help", "--http-proxy", "--init", "--interactive",
	"--no-healthcheck", "--no-hostname", "--no-hosts", "--oom-kill-disable", "--passwd", "--privileged", "--publish-all", "--quiet", "--read-only",
	"--read-only-tmpfs", "--replace", "--rm", "--rmi", "--rootfs", "--sig-proxy", "--tls-verify", "--tty", "--use-api-socket"}

// detach returns the option among the words after run by which the client does not wait
// for the container; "": none. What follows the image is the container's.
func detach(words []string) string {
	for i := 0; i < len(words) && strings.HasPrefix(words[i], "-"); i++ {
		name, value, given := strings.Cut(words[i], "=")
		if name == "--detach" || name == "-d" {
			if value != "false" {
				return words[i]
			}
			continue
		}
		if strings.HasPrefix(name, "--") {
			if !given && !slices.Contains(runSwitches, name) {
				i++ // its value
			}
			continue
		}
		letters := name[1:]
		valued := strings.IndexFunc(letters, func(l rune) bool { return !strings.ContainsRune(runLetters, l) })
		if valued < 0 {
			valued = len(letters)
		}
		if strings.Contains(letters[:valued], "d") {
			return words[i]
		}
		if valued == len(letters)-1 && !given {
			i++ // the value of the last letter
		}
	}
	return ""
}

// option returns the value of an option of run, and whether it is set.
func option(words []string, name string) (value string, found bool) {
	for i, word := range words {
		if value, found = strings.CutPrefix(word, name+"="); found {
			return value, true
		}
		if word == name && i+1 < len(words) {
			return words[i+1], true
		}
	}
	return "", false
}

// checkContainer returns an error if something is asked of a container that its client
// cannot do.
func (c Config) checkContainer() error {
	at := runAt(c.Command)
	if at == 0 {
		return nil
	}
	if len(c.Under) > 0 {
		err := fmt.Errorf("%s starts the server from its daemon, where %s does not see it", c.Command[0], filepath.Base(c.Under[0]))
		return failure.With(err, failure.Failure{Kind: failure.Other, Cause: err.Error(), Advice: "give the command that runs in the container"})
	}
	if port := c.insists(); port != "" {
		return fmt.Errorf("port %s of a container is bound by its daemon, not by the command: publish a free one, as in -p {{port}}:80, and put {{addr}} into the URL", port)
	}
	if word := detach(c.Command[at+1:]); word != "" {
		return fmt.Errorf("%s leaves the container alone, which then cannot be ended or measured: take %s out of the command, so that it runs in the foreground", word, word)
	}
	if _, held := option(c.Command[at:], "--cpuset-cpus"); len(c.CPUs) > 0 && !held {
		list := strings.Trim(strings.ReplaceAll(fmt.Sprint(c.CPUs), " ", ","), "[]")
		return fmt.Errorf("a container is not held to the CPUs of its client: put --cpuset-cpus %s behind run", list)
	}
	return nil
}

// withIDFile returns the command with a file for the id of the container, if it runs one
// and does not name a file itself.
func (c Config) withIDFile() []string {
	at := runAt(c.Command)
	if at == 0 {
		return c.Command
	}
	if _, found := option(c.Command[at:], "--cidfile"); found {
		return c.Command
	}
	return slices.Insert(slices.Clone(c.Command), at+1, "--cidfile", filepath.Join(c.folder, "container-id"))
}

// containerOf returns the container that a command runs; nil: none.
func containerOf(cmd *exec.Cmd) *container {
	at := runAt(cmd.Args)
	if at == 0 {
		return nil
	}
	file, _ := option(cmd.Args[at:], "--cidfile")
	if !filepath.IsAbs(file) {
		file = filepath.Join(cmd.Dir, file)
		if absolute, err := filepath.Abs(file); err == nil {
			file = absolute
		}
	}
	return &container{client: cmd, before: cmd.Args[1:at], cidfile: file}
}

var containerID = lazyregexp.New(`^[0-9a-f]{64}\s*$`)

// id returns the id of the container, which exists once the daemon has made it.
func (c *container) id() (string, error) {
	text, err := os.ReadFile(c.cidfile)
	if err != nil {
		return "", fmt.Errorf("the id of the container is not known: %w", err)
	}
	if !containerID().Match(text) {
		return "", fmt.Errorf("the id of the container is not known: %s holds %.80q", c.cidfile, text)
	}
	return strings.TrimSpace(string(text)), nil
}

// end kills the container where it has outlived its client, as it does where that is
// killed: then it cannot pass the signal on.
func (c *container) end() error {
	id, err := c.id()
	if err != nil {
		return nil // none was made
	}
	wasKilled := c.client.ProcessState != nil && c.client.ProcessState.ExitCode() < 0
	if !inContainer(id) && !wasKilled { // of another machine it is not known
		return nil
	}
	kill := exec.Command(c.client.Path, slices.Concat(c.before, []string{"kill", id})...)
	kill.Dir, kill.Env = c.client.Dir, c.client.Env
	output, err := kill.CombinedOutput()
	for end := time.Now().Add(killTimeout); inContainer(id); time.Sleep(pollEvery) {
		if time.Now().After(end) {
			return errors.Join(fmt.Errorf("container %.12s survived its client, and %s for %v: %s", id, kill, killTimeout, output), err)
		}
	}
	return nil
}
