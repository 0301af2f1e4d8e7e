package report

import (
	"strings"

	"contend/why"
)

// shortName is a function's name without what is rarely looked at.
func shortName(function string) string { return clean(why.ShortName(function)) }

// mostlyIn are the functions of a row.
func mostlyIn(r why.Row) string {
	names := make([]string, len(r.Functions))
	for i, name := range r.Functions {
		names[i] = shortName(name)
	}
	return strings.Join(names, ", ")
}

// workName is a row's name with as many of its functions, one at least, as have room without being cut off.
func workName(r why.Row, room int) string {
	name := shortName(r.Name)
	for ; len(r.Functions) > 0; r.Functions = r.Functions[:len(r.Functions)-1] {
		if with := name + " (" + mostlyIn(r) + ")"; len(r.Functions) == 1 || width(with) <= room {
			return with
		}
	}
	return name
}
