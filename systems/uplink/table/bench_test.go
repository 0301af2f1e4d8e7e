//go:build unix

package table

import (
	"flag"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"contend/systems/uplink/lorawan"
)

// mix spreads consecutive numbers (SplitMix64, Steele, Lea and Flood 2014).
func mix(n uint64) uint64 {
	n = (n + 1) * 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

func nthEUI(n uint64) lorawan.EUI      { return lorawan.EUI(mix(2 * n)) }
func nthAddr(n uint64) lorawan.DevAddr { return lorawan.DevAddr(mix(2*n + 1)) }

// devices is the number of devices in BenchmarkDevices; a hundred million need about 11 GB.
var devices = flag.Uint64("devices", 10_000_000, "devices of the table in benchmarks")

// filled returns an index of devices, and the bytes that it takes.
func filled(devices uint64) (*index, float64) {
	before := heap()
	x := newIndex()
	x.mergeAll(devices)
	return x, heap() - before
}

// mergeAll puts in, as a reload does, devices of a thousand customers, every second in the middle of a join.
func (x *index) mergeAll(devices uint64) (met seen) {
	batch := make([]entry, 0, batchRows)
	for n := range devices {
		e := entry{Row: Row{Created: int64(n)}}
		e.Customer = Customer("customer " + strconv.FormatUint(n%1000, 10))
		e.DevEUI, e.JoinEUI, e.HasJoin = nthEUI(n), 1, true
		e.Active, e.HasActive = nthAddr(n), true
		e.Target, e.HasTarget = nthAddr(n+devices), n%2 == 0
		if batch = append(batch, e); len(batch) == batchRows || n == devices-1 {
			x.merge(batch, &met)
			batch = batch[:0]
		}
	}
	return met
}

func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// rowBytes are a row's own: DevEUI, JoinEUI, moment of creation, two addresses,
// customer, saved trust, flags.
const rowBytes = 8 + 8 + 8 + 2*4 + 4 + 2 + 1

// cpu reports the processor's time per operation, which other processes disturb less
// than the clock's.
func cpu(b *testing.B) func() {
	spent := func() time.Duration {
		var used syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			b.Fatal(err)
		}
		return time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	before := spent()
	return func() { b.ReportMetric(float64(spent()-before)/float64(b.N), "cpu-ns/op") }
}

// BenchmarkDevices reports look-ups of devices drawn at random among -devices, the bytes that each device takes on
// top of its row, and what loading all of them costs, without the database.
func BenchmarkDevices(b *testing.B) {
	devices := *devices
	began := time.Now()
	x, bytes := filled(devices)
	loading := time.Since(began)
	table := &Table{index: x}
	b.Run("ByDevEUI", func(b *testing.B) {
		defer cpu(b)()
		for n := uint64(0); b.Loop(); n++ {
			if _, ok := table.ByDevEUI(nthEUI(mix(n) % devices)); !ok {
				b.Fatal("not found")
			}
		}
		b.ReportMetric(bytes/float64(devices)-rowBytes, "B/device-over-row")
		b.ReportMetric(float64(loading)/float64(devices), "ns/loaded-device")
	})
	b.Run("ByAddr", func(b *testing.B) {
		defer cpu(b)()
		var rows []Row
		for n := uint64(0); b.Loop(); n++ {
			if rows = table.ByAddr(rows[:0], nthAddr(mix(n)%devices)); len(rows) == 0 {
				b.Fatal("not found")
			}
		}
	})
	b.Run("ByAddrWarm", func(b *testing.B) {
		defer cpu(b)()
		var rows []Row
		addrs := make([]lorawan.DevAddr, batchRows)
		for n := uint64(0); b.Loop(); n++ {
			i := n % batchRows
			if i == 0 {
				for j := range addrs {
					addrs[j] = nthAddr(mix(n+uint64(j)) % devices)
				}
				table.Warm(addrs)
			}
			if rows = table.ByAddr(rows[:0], addrs[i]); len(rows) == 0 {
				b.Fatal("not found")
			}
		}
	})
	b.Run("ByAddrParallel", func(b *testing.B) {
		defer cpu(b)()
		b.RunParallel(func(pb *testing.PB) {
			var rows []Row
			for n := uint64(0); pb.Next(); n++ {
				if rows = table.ByAddr(rows[:0], nthAddr(mix(n)%devices)); len(rows) == 0 {
					b.Fatal("not found")
				}
			}
		})
	})
	b.Run("Unknown", func(b *testing.B) {
		defer cpu(b)()
		var rows []Row
		for n := uint64(0); b.Loop(); n++ {
			rows = table.ByAddr(rows[:0], nthAddr(mix(n)|1<<40))
		}
	})
	b.Run("Write", func(b *testing.B) {
		defer cpu(b)()
		one := make([]entry, 1)
		for n := uint64(0); b.Loop(); n++ {
			eui := nthEUI(mix(n) % devices)
			one[0] = x.entry(x.find(eui, x.mix.eui(uint64(eui))))
			one[0].Active++
			x.putAll(one)
		}
	})
	b.Run("Reload", func(b *testing.B) {
		defer cpu(b)()
		for b.Loop() {
			x.begin()
			met := x.mergeAll(devices)
			if gone := x.sweep(met); len(gone) > 0 {
				b.Fatalf("%d are gone", len(gone))
			}
			x.end()
		}
	})
}
