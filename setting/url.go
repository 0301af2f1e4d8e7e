package setting

import (
	"errors"
	"fmt"
	"net/url"
)

// FillURL fills the settings of the struct from a URL of the form
// scheme:NAME?setting=value&…, in which settings are called as their flags are and
// only the name is required. It returns the name and every mistake.
func FillURL(into any, scheme, text string) (name string, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", err
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || u.Scheme != scheme || u.Opaque == "" || u.Fragment != "" {
		wrong := fmt.Errorf("target is %q; expected %s:NAME and %[2]s:NAME?setting=value&…", text, scheme)
		return "", errors.Join(wrong, err)
	}
	given := Values{}
	for flag, texts := range query {
		given[flag] = Value{Texts: texts}
	}
	var errs []error
	for _, s := range Of(into) {
		if n := len(query[s.Flag]); n > 1 && !s.List() {
			errs = append(errs, s.Wrong("is given %d times", n))
		}
	}
	for _, flag := range Foreign(Of(into), given, InFlags) {
		errs = append(errs, Unknown(flag, Of(into), given, InFlags))
	}
	return u.Opaque, errors.Join(append(errs, Fill(into, given, InFlags))...)
}
