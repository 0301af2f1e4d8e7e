package router

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	s := start(t, "", nil)
	d := s.insert(acme, 0)
	c := s.connect(acme, "upstream/")
	s.send(frame(d, 0), frame(d, 0), []byte{1})
	u := c.upstream()
	c.solve(&u, d)
	wanted := []string{
		`contend_router_uplinks_total{fate="routed"} 1`, `contend_router_uplinks_total{fate="duplicate"} 1`,
		`contend_router_uplinks_total{fate="malformed"} 1`, `contend_router_intake_malformed_total{field="frame_size"} 1`,
		`contend_router_messages_sent_total 1`, `contend_router_answers_total{kind="right_mic"} 1`, `contend_router_outcomes_total{outcome="answered"} 1`,
		`contend_router_challenge_entries_sum 16`, `contend_router_connections{stream="upstream"} 1`,
		`contend_router_api_calls_total{call="devices/insert",code="201"} 1`, `contend_router_intake_partitions 8`, `contend_router_table_devices 1`, `contend_router_table_heard 1`,
		"contend_router_answer_seconds_count 1", "go_build_info", "process_cpu_seconds_total",
	}
	var text string
	s.until("everything is counted", func() bool {
		text = s.scrape()
		for _, line := range wanted {
			if !strings.Contains(text, line) {
				return false
			}
		}
		return true
	})
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
