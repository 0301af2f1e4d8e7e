package script

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/grafana/sobek"
)

// maxLines is how many lines scripts print during a run; writing more would be what is measured.
const maxLines = 10

// A console prints what scripts log, the first lines of it. The zero value prints nothing.
type console struct {
	mu    sync.Mutex
	said  map[string]bool // by once
	out   io.Writer       // nil: nowhere
	lines int
	hide  *strings.Replacer // what secrets are replaced by; nil: there are none
}

func (c *console) methods(v *vu) exports {
	all := exports{}
	for _, name := range []string{"log", "info", "debug", "warn", "error"} {
		all[name] = func(call sobek.FunctionCall) sobek.Value {
			c.print(v, call.Arguments)
			return sobek.Undefined()
		}
	}
	return all
}

func (c *console) print(v *vu, values []sobek.Value) {
	if c.out == nil || v.id == 0 && !v.started { // the outermost part runs again for each virtual user
		return
	}
	if !c.next() {
		return
	}
	words := make([]string, len(values))
	for i, value := range values {
		if o, ok := value.(*sobek.Object); ok && o.ClassName() != "Error" {
			if text, err := v.stringify(sobek.Undefined(), value); err == nil && !sobek.IsUndefined(text) {
				value = text
			}
		}
		words[i] = harmless(value)
	}
	c.write(strings.Join(words, " "))
}

// warn prints what is wrong with a script, the first lines of it.
func (c *console) warn(text string) {
	if c.next() {
		c.write(text)
	}
}

// once prints what is odd about a script, each text once, in addition to what the script prints.
func (c *console) once(text string) {
	c.mu.Lock()
	known := c.out == nil || c.said[text] || len(c.said) == maxLines
	if !known {
		if c.said == nil {
			c.said = map[string]bool{}
		}
		c.said[text] = true
	}
	c.mu.Unlock()
	if !known {
		c.write(text)
	}
}

// next counts a line, and reports whether it is to be printed. The text is made without the lock: that may
// run the script, which may print in turn.
func (c *console) next() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines++
	return c.out != nil && c.lines <= maxLines
}

func (c *console) write(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hide != nil {
		text = c.hide.Replace(text)
	}
	fmt.Fprintf(c.out, "script: %s\n", strings.Map(printable, text))
}

// close says how many lines were not printed.
func (c *console) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lines > maxLines && c.out != nil {
		fmt.Fprintf(c.out, "script: %d lines more, which are not printed\n", c.lines-maxLines)
	}
	c.lines = 0
}

// printable keeps a terminal as it is.
func printable(r rune) rune {
	if r < ' ' && r != '\t' || r == 0x7f {
		return ' '
	}
	return r
}
