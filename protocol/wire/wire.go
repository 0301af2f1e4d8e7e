// Package wire is what the targets with a network have in common, whatever they
// speak: URLs, whom to trust, who shares a connection, how many event loops there
// are.
//
// Its errors name the field and no package: a protocol's package puts its own
// name before them (Named).
package wire

import (
	"errors"
	"fmt"
)

// Named puts a protocol's name before each of several errors.
func Named(protocol string, err error) error {
	if err == nil {
		return nil
	}
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return fmt.Errorf("%s: %w", protocol, err)
	}
	var errs []error
	for _, one := range several.Unwrap() {
		errs = append(errs, Named(protocol, one))
	}
	return errors.Join(errs...)
}
