package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"contend/finding"
)

// differs compares the document with its stored form, path by path.
func (d *Document) differs(stored []byte) error {
	recomputed, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("a recomputed figure is out of range: %w", err)
	}
	was, err := tree(stored)
	if err != nil {
		return err
	}
	is, err := tree(recomputed)
	if err != nil {
		return err
	}
	p := new(problems)
	p.diff("", was, is)
	return p.err()
}

// tree decodes JSON into maps, slices, strings and json.Number.
func tree(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return v, nil
}

func (p *problems) diff(path string, was, is any) {
	switch w := was.(type) {
	case map[string]any:
		if i, ok := is.(map[string]any); ok {
			if formerCode(w) == "" || formerCode(w) != i["code"] {
				p.diffObject(path, w, i)
			}
			return
		}
	case []any:
		i, ok := is.([]any)
		if w, i = sameCodes(w, i); ok && len(i) == len(w) {
			for n := range w {
				p.diff(fmt.Sprintf("%s[%d]", path, n), w[n], i[n])
			}
			return
		}
	case json.Number:
		if i, ok := is.(json.Number); ok && sameNumber(w, i) {
			return
		}
	default:
		if reflect.DeepEqual(was, is) {
			return
		}
	}
	p.add(path, "is stored as %s, recomputed it is %s", brief(was), brief(is))
}

func warningCode(v any) string {
	object, _ := v.(map[string]any)
	code, _ := object["code"].(string)
	return code
}

// formerCode returns the code that a warning of an older version has now; "": it is no
// such warning.
func formerCode(v any) string {
	code := warningCode(v)
	if now := finding.Current(code); now != code {
		return now
	}
	return ""
}

// sameCodes leaves out of two lists what the first has under a former code, and the
// second under the one of now: an older version judged by other words.
func sameCodes(was, is []any) (_, _ []any) {
	for _, v := range was {
		if now := formerCode(v); now != "" {
			is = slices.DeleteFunc(slices.Clone(is), func(v any) bool { return warningCode(v) == now })
		}
	}
	return slices.DeleteFunc(slices.Clone(was), func(v any) bool { return formerCode(v) != "" }), is
}

// warnedOver returns an older version's result with what it warned of in place of over_time.
func warnedOver(was, is map[string]any) (_, _ map[string]any) {
	if was["over_time"] != nil || is["over_time"] == nil {
		return was, is
	}
	was, is = maps.Clone(was), maps.Clone(is)
	delete(is, "over_time")
	list, _ := was["warnings"].([]any)
	was["warnings"] = slices.DeleteFunc(slices.Clone(list), func(v any) bool {
		return warningCode(v) == finding.NotSteady.Code || warningCode(v) == finding.Stalled.Code
	})
	return was, is
}

func (p *problems) diffObject(path string, was, is map[string]any) {
	was, is = warnedOver(was, is)
	if path != "" {
		path += "."
	}
	for _, key := range slices.Sorted(maps.Keys(was)) {
		if i, ok := is[key]; ok {
			if !slices.Contains(sentences, key) || !worded(was[key], i) {
				p.diff(path+key, was[key], i)
			}
		} else {
			p.add(path+key, "is stored as %s, but nothing of that name is computed", brief(was[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(is)) {
		if _, ok := was[key]; !ok {
			p.add(path+key, "is missing, recomputed it is %s", brief(is[key]))
		}
	}
}

// sentences are the keys of texts for people. Another version may have said the same in
// other words; what is shown is what this one says.
var sentences = []string{"text", "detail", "no_fit", "no_peak", "left_out"}

// worded reports whether both are sentences.
func worded(was, is any) bool {
	before, _ := was.(string)
	now, _ := is.(string)
	return before != "" && now != ""
}

// sameNumber takes integers exactly; of others it allows for the last digits of
// a computation on another processor.
func sameNumber(a, b json.Number) bool {
	const tolerance = 1e-9
	if a == b {
		return true
	}
	_, err1 := a.Int64()
	_, err2 := b.Int64()
	if err1 == nil && err2 == nil {
		return false
	}
	x, err1 := a.Float64()
	y, err2 := b.Float64()
	return err1 == nil && err2 == nil && max(x-y, y-x) <= tolerance*max(x, -x, y, -y)
}

// brief shows a value in at most 60 bytes or so.
func brief(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if len(text) > 60 {
		text = append(text[:57], "..."...)
	}
	return string(text)
}
