package metric_test

import (
	"testing"

	"contend/metric"
)

func TestFormats(t *testing.T) {
	tests := []struct{ give, want string }{
		{metric.Throughput.Format(4532.28), "4,532/s"},
		{metric.Name("bytes_in_per_s").Format(754e3), "754 kB/s"},
		{metric.Name("response_p99_ns").Format(2e6), "2.00 ms"},
		{metric.ServerCPUPerOp.Format(31_000), "31.0 µs"},
		{metric.ServerRSS.Format(5e6), "5.00 MB"},
		{metric.Name("alloc_bytes_per_op").Format(549), "549 B"},
		{metric.Errors.Format(3), "3"},
		{metric.Throughput.Words(), "throughput"},
		{metric.Name("response_p999_ns").Words(), "response time p99.9"},
		{metric.Name("start_lag_max_ns").Words(), "start lag max"},
		{metric.Name("first_byte_mean_ns").Words(), "first byte mean"},
		{metric.Name("bytes_out_per_s").Words(), "bytes out per second"},
		{metric.Name("elapsed_ns").Words(), "elapsed"},
		{metric.Name("handled_per_s").Words(), "handled per second"},
		{metric.Name("handled_per_s").Format(1500), "1,500/s"},
		{metric.Name("kept_bytes_per_s").Format(1500), "1.50 kB/s"},
		{metric.Name("gc_ns_per_op").Format(1500), "1.50 µs"},
		{metric.Name("retries").Format(1500), "1,500"},
	}
	for _, tt := range tests {
		if tt.give != tt.want {
			t.Errorf("got %q, want %q", tt.give, tt.want)
		}
	}
}

func TestExactly(t *testing.T) {
	for name, want := range map[metric.Name]string{
		metric.Throughput: "4,532.25/s", "response_p99_ns": "4,532.25 ns", metric.ServerCPUPerOp: "4,532.25 ns", metric.ServerRSS: "4,532.25 B",
		"bytes_in_per_s": "4,532.25 B/s", metric.Errors: "4,532.25",
	} {
		if got := name.Exactly(4532.25); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
