package metric_test

import (
	"math"
	"testing"

	"contend/metric"
)

func TestFormats(t *testing.T) {
	tests := []struct{ give, want string }{
		{metric.Duration(0), "0 ns"},
		{metric.Duration(719), "719 ns"},
		{metric.Duration(999.4), "999 ns"},
		{metric.Duration(999.6), "1.00 µs"}, // 1000 ns with three digits
		{metric.Duration(1.63e6), "1.63 ms"},
		{metric.Duration(15.44e9), "15.4 s"},
		{metric.Duration(3600e9), "3600 s"},
		{metric.Duration(-1500), "-1.50 µs"},
		{metric.Duration(math.NaN()), "NaN ns"},
		{metric.Digits(9.996), "10.0"}, // not 10.00
		{metric.Digits(99.96), "100"},
		{metric.Digits(1234.5), "1234"},
		{metric.Digits(0.00137), "0.00137"},
		{metric.Digits(0.0001), "0.000100"},
		{metric.Digits(0.00001), "1e-05"},
		{metric.Digits(1e-9), "1e-09"},
		{metric.Digits(math.Inf(1)), "+Inf"},
		{metric.Number(999), "999"},
		{metric.Number(999.9), "1,000"},
		{metric.Number(0.25), "0.250"},
		{metric.Number(-1234567.8), "-1,234,568"},
		{metric.Number(12345), "12,345"},
		{metric.Bytes(999), "999 B"},
		{metric.Bytes(999_999), "1.00 MB"},
		{metric.Bytes(20_971_520), "21.0 MB"},
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
