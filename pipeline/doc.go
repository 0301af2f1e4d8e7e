// Package pipeline holds interchangeable ways to hand items from producers to
// consumers: channels, batches over channels, rings, and a queue for many on
// both sides. Designs lists them with what each guarantees; New makes one.
//
//	p, err := pipeline.New[Job]("spsc", pipeline.Config{Buffer: 10_000})
//	go func() {
//		defer p.Producers[0].Close(ctx)
//		for _, job := range jobs {
//			if err := p.Producers[0].Send(ctx, job); err != nil { ... }
//		}
//	}()
//	for {
//		job, err := p.Consumers[0].Receive(ctx)
//		if err == io.EOF { break }
//		...
//	}
//
// # How it becomes fast
//
// Handing an index or an item over from core to core costs tens of nanoseconds,
// because its cache line travels. A ring that publishes its index for every item
// is therefore no faster than a channel. Every [Producer] has a window, a slice
// of slots that it alone may fill, and every [Consumer] one that it alone may
// read. Send and Receive are little more than an index and two comparisons; Offer
// and Take are that part alone, which the compiler inlines; SendAll and ReceiveSome
// move slices. The cache line travels once per window. In a ring the windows are
// pieces of the ring itself; in chan-batch they are slices that travel over a
// channel and come back through a second one. Designs that do not batch have an
// empty window, so that every call goes straight to the channel or queue.
// (Batched publication of the control variables: Lee, Bu and Chandranmenon, "A
// Lock-Free, Cache-Efficient Multi-Core Synchronization Mechanism for Line-Rate
// Network Traffic Monitoring", IPDPS 2010, there called MCRingBuffer.)
//
// # How long an item can wait unpublished
//
// With chan and mpmc an item is visible when Send returns. With the batching
// designs it becomes visible when the first of these happens: its window is full
// (at most Config.Batch − 1 further items of the same producer); its producer
// calls Send while a consumer is parked for want of items; its producer calls
// Flush or Close. So under load items travel in batches, and with an idle
// consumer each travels at once. There is no timer: a producer that is about to
// pause calls Flush, as with a bufio.Writer.
//
// # Waiting
//
// A goroutine that has to wait polls for about a microsecond (not with
// GOMAXPROCS 1, where nothing can change meanwhile), yields its processor a few
// dozen times, and then parks: an idle pipeline burns no CPU. chan parks at once,
// as channels do. A context counts only while a call waits; one that can never
// be cancelled is cheapest: with it chan uses the plain channel operation, where
// a select costs 90 ns more when it blocks.
//
// # Closing
//
// After every producer has been closed, consumers drain what was sent and then
// get io.EOF, again and again. A consumer may stop at any time; producers that
// then find the pipeline full are released by their context.
//
// # Why an own queue for many producers and consumers
//
// The mpmc queue is D. Vyukov's bounded queue (1024cores.net, "Bounded MPMC
// queue"), sixty lines. The well-kept MPMCQueue of puzpuzpuz/xsync was
// considered: its TryEnqueue and TryDequeue also fail when another goroutine got
// in between, so "full" and "empty" cannot be told from "try again", and a
// consumer that parks on such an answer may sleep while an item waits.
package pipeline
