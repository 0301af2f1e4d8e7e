package script

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/load"
)

// Measurements have the tags of the system that options.systemTags names, by default all but the address of the
// server; the script's own tags are always there.
func TestSystemTags(t *testing.T) {
	for _, tt := range []struct {
		system string
		want   []string // parts of http_reqs, of 5 iterations with one request, that have them
	}{
		{"", []string{"status:200", "method:GET", "scenario:default", "expected_response:true", "group:::a", "name:mine", "proto:HTTP/1.1", "kind:x", "run:r1"}},
		{"systemTags: [],", []string{"name:mine", "kind:x", "run:r1"}},
		{"systemTags: ['ip', 'status'],", []string{"status:200", "ip:127.0.0.1", "name:mine", "kind:x", "run:r1"}},
		{"systemTags: ['group', 'scenario', 'proto'],", []string{"scenario:default", "group:::a", "name:mine", "proto:HTTP/1.1", "kind:x", "run:r1"}},
	} {
		t.Run(tt.system, func(t *testing.T) {
			engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) {
				all := []string{"status:200", "method:GET", "scenario:default", "expected_response:true", "group:::a", "name:mine", "proto:HTTP/1.1", "kind:x", "run:r1", "ip:127.0.0.1"}
				var thresholds []string
				for _, part := range all {
					thresholds = append(thresholds, fmt.Sprintf("'http_reqs{%s}': ['count>=0']", part))
				}
				path := testenv.Files(t, "tags.js", `
					import http from 'k6/http';
					import { group } from 'k6';
					export const options = { `+tt.system+` tags: { run: 'r1' }, thresholds: { `+strings.Join(thresholds, ", ")+` } };
					export default function () {
						group('a', () => http.get(__ENV.BASE_URL + '/echo', { tags: { name: 'mine', kind: 'x' } }));
					}`)
				r := drive(Config{Script: path, URL: shop(t).URL}, 5)
				for _, part := range all {
					want := 0.0
					if slices.Contains(tt.want, part) {
						want = 5
					}
					got := 0.0
					if m := r.Meter("http_reqs{" + part + "}"); m != nil { // nil: nothing was measured of it
						got = m.Sum
					}
					if got != want {
						t.Errorf("%s: %v, want %v", part, got, want)
					}
				}
			})
		})
	}
	refuses(t, Config{Script: testenv.Files(t, "tags.js", "export const options = {\n systemTags: ['status', 'ocsp'] };\nexport default function () {}")}, `tags.js:2: options.systemTags has "ocsp"; expected proto, `)
}
