package metric

import "contend/internal/unit"

// Format formats a value of the metric with its unit.
func (n Name) Format(value float64) string {
	switch n.Kind() {
	case Time, Cost:
		return unit.Duration(value)
	case Rate:
		return unit.Rate(value)
	case Size:
		return unit.Bytes(value)
	case Traffic:
		return unit.Bytes(value) + "/s"
	}
	return unit.Number(value)
}

// Exactly formats a value of the metric with all its digits, in its smallest unit.
func (n Name) Exactly(value float64) string {
	units := map[Kind]string{Time: " ns", Cost: " ns", Rate: "/s", Size: " B", Traffic: " B/s"}
	return unit.Exactly(value) + units[n.Kind()]
}
