package router

import (
	"log/slog"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"contend/systems/uplink/outbox"
	"contend/systems/uplink/queue"
	"contend/systems/uplink/stream"
)

// metrics reads what the parts of a router have counted whenever it is asked.
type metrics struct {
	http.Handler
	calls *prometheus.CounterVec
}

func newMetrics(r *Router) *metrics {
	m := &metrics{calls: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: prefix + "api_calls_total", Help: "Calls of the HTTP API, by call and status code.",
	}, []string{"call", "code"})}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.calls, snapshot{r}, collectors.NewGoCollector(), collectors.NewBuildInfoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.Handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(r.config.Log.Handler(), slog.LevelWarn)})
	return m
}

func (m *metrics) called(call string, status int) {
	m.calls.WithLabelValues(call, strconv.Itoa(status)).Inc()
}

// A snapshot collects the counters of a router. It describes nothing beforehand:
// the registry then checks each collection.
type snapshot struct{ *Router }

func (snapshot) Describe(chan<- *prometheus.Desc) {}

func (s snapshot) Collect(ch chan<- prometheus.Metric) {
	to := sender(ch)
	for f := range fateCount {
		to.count("uplinks_total", "Uplinks, by what the router did with them.", s.fates[f].Load(), "fate", f.String())
	}
	to.intake(s.intake.Stats())
	memory := s.intake.Memory()
	to.gauge("redis_memory_used_bytes", "What the data of Redis takes, of several servers of the one with the least room; 0 without a limit.", int(memory.Used))
	to.gauge("redis_memory_limit_bytes", "The maxmemory of that server, beyond which it accepts no uplinks; 0: no limit.", int(memory.Limit))
	to.outboxes(s.boxStats())
	to.gauge("gateway_clocks_off", "Gateways whose clock is off by more than 2 s, or whose entries come so late.", s.clocks.off())
	to.streams(s.streams.Stats())
	to.connections(s.listener)
	to.gauge("table_devices", "Devices in the routing table, of all customers.", s.config.Table.Len())
	to.gauge("table_heard", "1 while changes of the routing table by other routers are heard, else 0.", map[bool]int{true: 1}[s.config.Table.Hears()])
	to.gauge("chores_waiting", "Changes of the routing table that follow from traffic and wait for the database.", s.chores.len())
	s.downlinks.mu.Lock()
	defer s.downlinks.mu.Unlock()
	for code, n := range s.downlinks.counts {
		to.count("downlinks_total", "Downlinks that ended, by result.", n, "result", code.String())
	}
	to.count("downlinks_abandoned_total", "Downlinks whose connection was closed before their result.", s.downlinks.abandoned)
	to.gauge("downlinks_pending", "Downlinks of this instance whose result is awaited, also where the connection was closed.", len(s.downlinks.pending))
}

// boxStats adds up the outboxes of all customers.
func (r *Router) boxStats() outbox.Stats {
	var sum outbox.Stats
	for _, c := range r.all() {
		add(&sum, c.box.Stats())
	}
	return sum
}

func add(sum *outbox.Stats, s outbox.Stats) {
	for _, pair := range []struct {
		sum *uint64
		n   uint64
	}{{&sum.Put, s.Put}, {&sum.Sent, s.Sent}, {&sum.Redelivered, s.Redelivered}, {&sum.RightMIC, s.RightMIC},
		{&sum.WrongMIC, s.WrongMIC}, {&sum.NotOffered, s.NotOffered}, {&sum.MICFailed, s.MICFailed},
		{&sum.OtherRejects, s.OtherRejects}, {&sum.Unknown, s.Unknown}, {&sum.Suspensions, s.Suspensions}} {
		*pair.sum += pair.n
	}
	for i, n := range s.Outcomes {
		sum.Outcomes[i] += n
	}
	for _, pair := range []struct{ sum, of *outbox.Histogram }{
		{&sum.Challenges, &s.Challenges}, {&sum.Wait, &s.Wait}, {&sum.AnswerTime, &s.AnswerTime}} {
		pair.sum.Sum += pair.of.Sum
		for i, n := range pair.of.Counts {
			pair.sum.Counts[i] += n
		}
	}
	sum.Waiting, sum.Unanswered, sum.Bytes = sum.Waiting+s.Waiting, sum.Unanswered+s.Unanswered, sum.Bytes+s.Bytes
	sum.Devices, sum.Connections = sum.Devices+s.Devices, sum.Connections+s.Connections
}

// A sender turns figures into metrics, each under the name of the service.
type sender chan<- prometheus.Metric

const prefix = "contend_router_"

// count sends a counter with a label and its value, as in "fate", "routed", or
// without.
func (to sender) count(name, help string, n int64, label ...string) {
	to.send(prometheus.CounterValue, name, help, float64(n), label)
}

func (to sender) gauge(name, help string, n int, label ...string) {
	to.send(prometheus.GaugeValue, name, help, float64(n), label)
}

func (to sender) send(kind prometheus.ValueType, name, help string, n float64, label []string) {
	names, values := label[:len(label)/2], label[len(label)/2:]
	to <- prometheus.MustNewConstMetric(prometheus.NewDesc(prefix+name, help, names, nil), kind, n, values...)
}

// histogram sends buckets of powers of two, whose values are in units of scale.
func (to sender) histogram(name, help string, h outbox.Histogram, scale float64) {
	buckets := map[float64]uint64{}
	total := uint64(0)
	for i, n := range h.Counts {
		total += n
		buckets[float64(uint64(1)<<i-1)*scale] = total
	}
	to <- prometheus.MustNewConstHistogram(prometheus.NewDesc(prefix+name, help, nil, nil), total, float64(h.Sum)*scale, buckets)
}

func (to sender) intake(s queue.Stats) {
	const help = "Entries of the intake, by event."
	for event, n := range map[string]uint64{"read": s.Read, "poison": s.Poison, "claimed": s.Claimed, "lost": s.Lost,
		"acknowledged": s.Acked, "trimmed": s.Trimmed, "forwarded": s.Forwarded, "moved": s.Moved, "dropped": s.Dropped} {
		to.count("intake_entries_total", help, int64(n), "event", event)
	}
	for field, n := range s.Malformed {
		to.count("intake_malformed_total", "Entries set aside, by the first field that is wrong.", int64(n), "field", field)
	}
	to.count("redis_errors_total", "Errors of Redis, or of the way to it.", int64(s.Errors))
	to.send(prometheus.GaugeValue, "redis_clock_ahead_seconds", "By how much this router's clock is ahead of that of Redis.", s.ClockAhead.Seconds(), nil)
	to.gauge("intake_lag", "Entries of this instance's partitions that were not delivered yet.", int(s.Lag))
	to.gauge("intake_pending", "Entries of this instance's partitions that were delivered and not acknowledged.", int(s.Pending))
	to.gauge("intake_partitions", "Partitions that this instance reads.", len(s.Partitions))
}

func (to sender) outboxes(s outbox.Stats) {
	to.count("messages_total", "Messages put into outboxes, one per uplink and customer.", int64(s.Put))
	to.count("messages_sent_total", "First deliveries.", int64(s.Sent))
	to.count("messages_redelivered_total", "Further deliveries.", int64(s.Redelivered))
	for outcome, n := range s.Outcomes {
		to.count("outcomes_total", "Messages that ended, by outcome.", int64(n), "outcome", outbox.Outcome(outcome).String())
	}
	for kind, n := range map[string]uint64{"right_mic": s.RightMIC, "wrong_mic": s.WrongMIC, "not_offered": s.NotOffered,
		"mic_failed": s.MICFailed, "other_reject": s.OtherRejects, "unknown": s.Unknown} {
		to.count("answers_total", "Answers of customers, by kind.", int64(n), "kind", kind)
	}
	to.count("suspensions_total", "Devices with too many wrong MICs in succession.", int64(s.Suspensions))
	to.gauge("messages_waiting", "Messages in memory that no connection has.", s.Waiting)
	to.gauge("messages_unanswered", "Messages that were sent and not answered.", s.Unanswered)
	to.gauge("messages_bytes", "Memory for messages, estimated.", s.Bytes)
	to.gauge("devices", "Devices whose trust is in memory.", s.Devices)
	to.histogram("challenge_entries", "Lengths of challenges at the first delivery.", s.Challenges, 1)
	to.histogram("wait_seconds", "Time from the intake to the first delivery.", s.Wait, 1e-6)
	to.histogram("answer_seconds", "Time from the last delivery to the answer.", s.AnswerTime, 1e-6)
}

func (to sender) connections(l *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	to.gauge("http_connections", "Open connections, streams included, by kind.", l.all.open, "kind", "usual")
	to.gauge("http_connections", "Open connections, streams included, by kind.", l.spare.open, "kind", "spare")
	to.gauge("http_connections_idle", "Open connections that wait for a request.", l.all.idle.Len()+l.spare.idle.Len())
	for event, n := range map[string]int64{"accepted": l.counts.accepted, "evicted": l.counts.evicted, "refused": l.counts.refused} {
		to.count("http_connections_total", "Connections that were accepted, idle ones of them closed to make room, and ones closed at once.", n, "event", event)
	}
	to.count("http_accept_errors_total", "Failures to accept a connection, as when files run out.", l.counts.failures)
}

func (to sender) streams(s stream.Stats) {
	for kind, n := range s.Open {
		to.gauge("connections", "Open connections, by stream.", int(n), "stream", stream.Kind(kind).String())
	}
	for code, n := range s.Closed {
		to.count("connections_closed_total", "Connections that ended, by close code.", n, "code", strconv.Itoa(code))
	}
	for reason, n := range map[string]int64{"unauthorized": s.Unauthorized, "handshake": s.BadHandshake, "busy": s.Refused} {
		to.count("connections_refused_total", "Connections refused before the upgrade, by reason.", n, "reason", reason)
	}
	to.count("sent_bytes_total", "Bytes written to customers.", s.BytesSent)
	to.count("received_bytes_total", "Bytes read from customers.", s.BytesReceived)
	to.count("malformed_messages_total", "Messages of customers that ended their connection.", s.Malformed)
}
