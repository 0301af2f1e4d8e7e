// Release makes what a release has and goreleaser cannot make without programs of others: the manual, the lists of
// what is in a program, and the image. The same commit gives the same bytes; SOURCE_DATE_EPOCH is when it was made.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

const usage = `release manual FOLDER                 pages of the manual, and completions
release sbom PROGRAM FILE              what is in a program, as SPDX
release image FOLDER PROGRAM...        an OCI layout with the last stage of deploy/Dockerfile, for each program`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH is %q; expected when the commit was made, as git log -1 --format=%%ct has it", os.Getenv("SOURCE_DATE_EPOCH"))
	}
	made := time.Unix(seconds, 0).UTC()
	switch {
	case len(args) == 2 && args[0] == "manual":
		return manual(args[1], made)
	case len(args) == 3 && args[0] == "sbom":
		return sbom(args[1], args[2], made)
	case len(args) >= 3 && args[0] == "image":
		return images(args[1], args[2:], made)
	default:
		return errors.New("expected one of\n" + usage)
	}
}
