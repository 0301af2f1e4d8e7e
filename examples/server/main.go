// Command server is a small HTTP service to try contend on. Its flags set the cost of a
// request, and whether the service stalls now and then.
package main

import (
	"crypto/sha256"
	"flag"
	"log"
	"net/http"
	_ "net/http/pprof" // tells contend compare --why what requests wait for
	"sync"
	"time"
)

func main() {
	listen := flag.String("listen", "localhost:8080", "address to listen on")
	sums := flag.Int("sums", 20, "work per request: number of SHA-256 sums of 1 KiB")
	wait := flag.Duration("wait", 0, "wait per request, as for a database")
	pool := flag.Int("pool", 8, "how many requests can wait at a time")
	stall := flag.Duration("stall", 0, "freeze for this long in every second")
	flag.Parse()

	var standing sync.RWMutex // held by whatever stalls
	if *stall > 0 {
		go func() {
			for range time.Tick(time.Second) {
				standing.Lock()
				time.Sleep(*stall)
				standing.Unlock()
			}
		}()
	}
	connections := make(chan struct{}, *pool)
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		standing.RLock()
		defer standing.RUnlock()
		if *wait > 0 {
			connections <- struct{}{}
			time.Sleep(*wait)
			<-connections
		}
		page := make([]byte, 1024)
		for range *sums {
			sum := sha256.Sum256(page)
			copy(page, sum[:])
		}
		_, _ = w.Write(page)
	})
	log.Fatal(http.ListenAndServe(*listen, nil))
}
