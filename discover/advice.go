package discover

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"contend/failure"
	"contend/internal/lazyregexp"
	"contend/subject"
)

// A cause is why a program is no server, by what it wrote last.
type cause struct {
	sign func() *regexp.Regexp
	say  func(found []string) string // what to do; "": it does not apply
}

// causes are the known ones: the first that applies.
var causes = []cause{
	{lazyregexp.New(`(?is)^.*refused.*$`), needsAnother},
	{lazyregexp.New(`(?:Cannot find module|can't open file|Unable to access jarfile) ["']?([^\s"']*[/.][^\s"']*)`), func(found []string) string {
		return "check the path " + found[1] + ", which counts from the folder where contend was started, or from its --dir"
	}},
	{lazyregexp.New(`(?:No module named|Cannot find module) ["']([^"']+)["']`), func(found []string) string {
		return "install " + found[1] + ", which the program needs, or start it with the environment that has it"
	}},
	{lazyregexp.New(`(?i)read-only file system|EROFS`), func([]string) string {
		return "start the program in a folder that it can write to: --dir FOLDER"
	}},
	{lazyregexp.New(`(?i)exec format error`), func([]string) string {
		return "begin the file with a line such as #!/bin/sh, or name what runs it, as in 'python3 server.py'"
	}},
	{lazyregexp.New(`(?i)(?:address already in use|EADDRINUSE)`), func([]string) string {
		return "end the program that has this port on all addresses (ss -ltnp shows it), or have the server listen at another"
	}},
	{lazyregexp.New(`(?i)(?:permission denied|EACCES).*?:(\d{1,3})\b|:(\d{1,3})\b.*(?:permission denied|EACCES)`), func([]string) string {
		return "have the server listen at a port from 1024 on, or run contend as a user who may use this one"
	}},
	{lazyregexp.New(`\b([A-Z][A-Z0-9]*_[A-Z0-9_]+|[A-Z][A-Z0-9]{4,})\b["'` + "`" + `]?(?: environment variable| env var)?,? (?:is |was |must be |has to be )?(?:not set|unset|required|missing|undefined|empty|set)\b`), variable},
	{lazyregexp.New(`(?:KeyError: |key not found: |[Ee]nvironment variable:? )["'` + "`" + `]?([A-Z][A-Z0-9_]*[A-Z0-9])\b|\b([A-Z][A-Z0-9_]*[A-Z0-9])["'` + "`" + `]? environment variable`), variable},
	{lazyregexp.New(`lookup ([\w.-]+)[^\n]*: no such host|(?:ENOTFOUND|EAI_AGAIN) ([\w.-]+)|host name "([\w.-]+)" to address`), func(found []string) string {
		return fmt.Sprintf("tell the program where %s is, as by --env NAME=VALUE: no such name is known here", cmp.Or(found[1:]...))
	}},
	{lazyregexp.New(`(?im)^\W*usage\b`), func([]string) string {
		return "give the program the arguments that it wants, in quotes, as in './server -listen {{addr}}'"
	}},
}

// variable is what to do about one that is missing.
func variable(found []string) string {
	return fmt.Sprintf("give the server the variable that it wants: --env %s=VALUE", cmp.Or(found[1:]...))
}

// lacking is what to do about the first known cause in the last words of a program; "": none is known.
func lacking(words string) string {
	for _, c := range causes {
		if found := c.sign().FindStringSubmatch(words); found != nil {
			if advice := c.say(found); advice != "" {
				return advice
			}
		}
	}
	return ""
}

// services are what usually listens on a port.
var services = map[string]string{
	"3306": "MySQL", "4222": "NATS", "5432": "PostgreSQL", "5672": "RabbitMQ", "6379": "Redis", "9092": "Kafka", "9200": "Elasticsearch",
	"11211": "memcached", "27017": "MongoDB",
}

// place is an address of a server in a text, the port apart, and refusal a line about a connection.
var (
	place   = lazyregexp.New(`([\w.-]+|\[[0-9a-fA-F:]+\])(?::|", port |['"], )(\d{2,5})\b`)
	refusal = lazyregexp.New(`(?i).*refused.*`)
)

// needsAnother says which server a program lacks that was refused a connection, by its own words or by what was seen of it;
// "": the text does not say.
func needsAnother(text []string) string {
	found := place().FindAllStringSubmatch(strings.Join(refusal().FindAllString(text[0], -1), " "), -1)
	if found == nil { // a line before it may say, as in Python
		found = slices.DeleteFunc(place().FindAllStringSubmatch(text[0], -1), func(at []string) bool { return services[at[2]] == "" })
	}
	if len(found) == 0 {
		return ""
	}
	at := found[len(found)-1] // others may be times
	return fmt.Sprintf("start %s at %s:%s, which refused the connection, or tell the program where it is, as by --env NAME=VALUE",
		cmp.Or(services[at[2]], "the server that it needs"), at[1], at[2])
}

// inForeground is what keeps programs in the foreground that go to the background otherwise.
var inForeground = map[string]string{"nginx": "-g 'daemon off;'", "apache2": "-D FOREGROUND", "httpd": "-D FOREGROUND", "redis-server": "--daemonize no"}

// explained adds to the error of a command what to do about it.
func explained(err error, command []string) error {
	f, known := failure.Of(err)
	if !known {
		return err
	}
	facts := failure.Failure{Advice: f.Advice}
	if flag := inForeground[filepath.Base(command[0])]; flag != "" && f.Exit != nil && *f.Exit == 0 {
		facts.Advice = fmt.Sprintf("have %s stay in the foreground: %s; and end the one that is in the background now", command[0], flag)
	}
	if f.Kind == failure.NotReady {
		facts.Cause, facts.More = "it listens on no TCP port after "+subject.DefaultStartTimeout.String(), f.More
		facts.Advice = "start it alone, and see where it listens; name its URL if that is on another machine or in a container"
		if runtime.GOOS == "windows" {
			facts.Cause = "it does not listen at PORT, and Windows does not tell where else"
			facts.Advice = "name the URL that it serves, such as http://localhost:8080/"
		}
	}
	last := strings.Join(f.LastWords, "\n")
	facts.Advice = cmp.Or(lacking(last), needsAnother([]string{f.More}), facts.Advice)
	return failure.With(err, facts)
}

// runnable returns what keeps the program of a command from being started, unless it is missing.
func runnable(command []string, dir string) error {
	if word := strings.Join(command[:min(2, len(command))], " "); word == "docker compose" || word == "podman compose" || command[0] == "docker-compose" {
		return refused("the containers of "+word+" are started by a daemon, where contend does not see them",
			"compare single containers, as in 'docker run --rm -p {{port}}:80 IMAGE', or start them and give their URLs")
	}
	path := command[0]
	if strings.ContainsRune(path, filepath.Separator) && !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
		if !strings.ContainsRune(path, filepath.Separator) {
			path = "." + string(filepath.Separator) + path
		}
	}
	if _, err := exec.LookPath(path); errors.Is(err, fs.ErrPermission) {
		advice := "make it so with chmod +x " + command[0]
		if runner := cmp.Or(Runner(path), interpreter(beginning(path))); runner != "" {
			advice += ", or name what runs it, as in '" + runner + " " + command[0] + "'"
		}
		return refused(command[0]+" is not executable", advice)
	}
	return nil
}

// refused is the error of a program that is not started.
func refused(cause, advice string) error {
	return failure.With(errors.New(cause), failure.Failure{Kind: failure.Other, Cause: cause, Advice: advice})
}

// runners run files by the ends of their names.
var runners = map[string]string{".py": "python3", ".js": "node", ".mjs": "node", ".rb": "ruby", ".php": "php", ".pl": "perl", ".jar": "java -jar", ".sh": "sh"}

// Runner is the program that runs files with such a name; "": unknown.
func Runner(file string) string { return runners[filepath.Ext(file)] }

// magic is what executables begin with: those of Linux, of macOS for one and for several kinds of processors, of Windows.
var magic = []string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe", "MZ"}

// IsProgram reports whether a file begins as a program does, whatever its name and rights.
func IsProgram(file string) bool {
	begins := beginning(file)
	return interpreter(begins) != "" || slices.ContainsFunc(magic, func(m string) bool { return strings.HasPrefix(begins, m) })
}

// interpreter is what runs a script by its first line; "": there is no such line.
func interpreter(begins string) string {
	line, _, _ := strings.Cut(begins, "\n")
	runner, is := strings.CutPrefix(line, "#!")
	if !is {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSpace(runner), "/usr/bin/env ")
}

// beginning is the first part of a regular file; "": it cannot be read.
func beginning(file string) string {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	part := make([]byte, 256)
	n, _ := io.ReadFull(f, part)
	return string(part[:n])
}
