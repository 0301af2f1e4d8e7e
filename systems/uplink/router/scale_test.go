package router

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"contend/internal/cpu"
	"contend/internal/redisserver/redistest"
	"contend/systems/uplink/gen"
	"contend/systems/uplink/queue"
	"contend/systems/uplink/sink"
	"contend/systems/uplink/table/tabletest"
)

// What the stages of an uplink's path use as it grows; bench/scale.md makes a plan of it: CPU time and bytes of an
// uplink, at full speed. Generator and sink are in this process.
//
//	go test ./systems/uplink/router -run '^$' -bench Scale -benchtime 100000x
func BenchmarkScale(b *testing.B) {
	pg := tabletest.Start(b)
	for _, partitions := range []int{1, 2, 4} {
		for _, routers := range []int{1, 2, 4} {
			b.Run(fmt.Sprintf("partitions=%d/routers=%d", partitions, routers), func(b *testing.B) {
				server := redistest.Start(b)
				way{url: server.URL(), servers: []*redistest.Server{server}, partitions: partitions, routers: routers, devices: 64}.run(b, pg)
			})
		}
	}
}

// BenchmarkCustomer has all uplinks read by one of two routers, and the customer's socket at that or at the other one;
// on one server, and on a cluster of three masters with a replica each, whose CPU time is in it.
func BenchmarkCustomer(b *testing.B) {
	pg := tabletest.Start(b)
	for socket, name := range []string{"local", "remote"} {
		b.Run(name, func(b *testing.B) {
			server := redistest.Start(b)
			way{url: server.URL(), servers: []*redistest.Server{server}, partitions: 1, routers: 2, socket: socket}.run(b, pg)
		})
		b.Run("cluster/"+name, func(b *testing.B) {
			cluster := redistest.StartCluster(b, 3, true)
			way{url: cluster.URL(), servers: cluster.Masters, partitions: 1, routers: 2, socket: socket}.run(b, pg)
		})
	}
}

// BenchmarkRedis has one router's uplinks go through one server, read by our own reader; the same server by way of a
// sentinel, read by the library's; three masters; and three with a replica each, whose CPU time is in it, that are not
// waited for, and that are by the writer.
func BenchmarkRedis(b *testing.B) {
	pg := tabletest.Start(b)
	b.Run("own reader", func(b *testing.B) {
		server := redistest.Start(b)
		way{url: server.TCP(), servers: []*redistest.Server{server}, routers: 1}.run(b, pg)
	})
	b.Run("library", func(b *testing.B) {
		server := redistest.Start(b)
		url := "redis://" + redistest.StartSentinel(b, server) + "?master_set=" + redistest.SentinelSet
		way{url: url, servers: []*redistest.Server{server}, routers: 1}.run(b, pg)
	})
	b.Run("cluster", func(b *testing.B) {
		cluster := redistest.StartCluster(b, 3, false)
		way{url: cluster.URL(), servers: cluster.Masters, routers: 1}.run(b, pg)
	})
	for replicas, name := range []string{"replicas", "replicas confirm"} {
		b.Run(name, func(b *testing.B) {
			cluster := redistest.StartCluster(b, 3, true)
			way{url: cluster.URL(), servers: cluster.Masters, routers: 1, replicas: replicas}.run(b, pg)
		})
	}
}

// BenchmarkWaiting has uplinks wait in Redis.
func BenchmarkWaiting(b *testing.B) {
	server := redistest.Start(b)
	producer, err := queue.NewProducer(b.Context(), openRedis(b, server.URL()), queue.ProducerConfig{})
	if err != nil {
		b.Fatal(err)
	}
	before := about(b, "memory", "used_memory", server)
	if _, err := gen.Run(b.Context(), gen.Config{Mode: gen.Flat, N: int64(b.N), Seed: 1, Add: producer.Add}); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric((about(b, "memory", "used_memory", server)-before)/float64(b.N), "memory-B/op")
}

// BenchmarkLease has a router wait for uplinks for b.N seconds: what it says of itself, and asks of others, is all that it
// does. 10x is enough.
func BenchmarkLease(b *testing.B) {
	defer func(before time.Duration) { *lease = before }(*lease)
	for _, *lease = range []time.Duration{15 * time.Second, 5 * time.Second, 2 * time.Second, 500 * time.Millisecond} {
		b.Run(lease.String(), func(b *testing.B) {
			server := redistest.Start(b)
			all := []*process{launch(b, server.URL(), "sqlite::memory:", "one")}
			redis := openRedis(b, server.URL())
			before := used(b, redis, all)
			time.Sleep(time.Duration(b.N) * time.Second)
			after := used(b, redis, all)
			for i, part := range []string{"router", "redis"} {
				b.ReportMetric(float64(after[i]-before[i])/float64(b.N)/1e3, part+"-µs/s")
			}
		})
	}
}

// A way is that of uplinks, from the test to a customer.
type way struct {
	url        string
	servers    []*redistest.Server // masters
	partitions int                 // 0: the default
	routers    int
	devices    int // 0: one
	socket     int // the router at which the customer's socket is
	replicas   int // that the writer waits for
}

// run sends b.N uplinks.
func (w way) run(b *testing.B, pg *tabletest.Server) {
	redis := openRedis(b, w.url)
	redis.Replicas = w.replicas
	producer, err := queue.NewProducer(b.Context(), redis, queue.ProducerConfig{Partitions: w.partitions})
	if err != nil {
		b.Fatal(err)
	}
	db := pg.Fresh(b)
	var all []*process
	for i := range w.routers {
		all = append(all, launch(b, w.url, db, fmt.Sprintf("router-%d", i)))
	}
	w.devices = max(w.devices, 1)
	for i := range w.devices {
		all[0].insert(acme, i)
	}
	for _, p := range all {
		p.until("it knows the devices", func() bool { return p.devices(acme) == w.devices })
	}
	done := receive(b, all[w.socket].address, acme, func(c *sink.Config) { c.Expect, c.Devices = int64(b.N), w.devices })
	const in, out = "total_net_input_bytes", "total_net_output_bytes"
	before, inBefore, outBefore := used(b, redis, all), about(b, "stats", in, w.servers...), about(b, "stats", out, w.servers...)
	b.ResetTimer()
	if _, err := gen.Run(b.Context(), gen.Config{Mode: gen.Flat, N: int64(b.N), Seed: 1, Devices: w.devices, Add: producer.Add}); err != nil {
		b.Fatal(err)
	}
	result := <-done
	b.StopTimer()
	after := used(b, redis, all)
	if result == nil || result.Lost > 0 || result.Unsolved > 0 {
		b.Fatal(account(result))
	}
	for i, part := range []string{"router", "redis", "load"} {
		b.ReportMetric(float64(after[i]-before[i])/float64(b.N)/1e3, part+"-µs/op")
	}
	b.ReportMetric((about(b, "stats", in, w.servers...)-inBefore)/float64(b.N), "redis-in-B/op")
	b.ReportMetric((about(b, "stats", out, w.servers...)-outBefore)/float64(b.N), "redis-out-B/op")
	b.ReportMetric(float64(result.Bytes)/float64(result.Uplinks), "socket-B/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "uplinks/s")
	for _, p := range all {
		p.stop() // a benchmark's next length has routers of its own
	}
}

// about sums up what servers say of themselves.
func about(b *testing.B, section, name string, servers ...*redistest.Server) (sum float64) {
	b.Helper()
	for _, server := range servers {
		for line := range strings.Lines(server.Do("INFO", section)) {
			if key, value, _ := strings.Cut(strings.TrimSpace(line), ":"); key == name {
				n, err := strconv.ParseFloat(value, 64)
				if err != nil {
					b.Fatal(err)
				}
				sum += n
			}
		}
	}
	return sum
}

// used is the CPU time of the routers together, of Redis and of this process.
func used(b *testing.B, redis *queue.Redis, routers []*process) (spent [3]time.Duration) {
	b.Helper()
	for _, p := range routers {
		_, text, found := strings.Cut(p.scrape(), "\nprocess_cpu_seconds_total ")
		line, _, _ := strings.Cut(text, "\n")
		seconds, err := strconv.ParseFloat(line, 64)
		if !found || err != nil {
			b.Skip("no CPU time of a process is known on ", runtime.GOOS)
		}
		spent[0] += time.Duration(seconds * float64(time.Second))
	}
	var err error
	if spent[1], err = redis.CPU(b.Context()); err != nil {
		b.Fatal(err)
	}
	spent[2], _ = cpu.Time()
	return spent
}
