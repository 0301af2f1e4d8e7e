package outbox

import "container/heap"

// A laneHeap holds the lanes that may be served, as a heap by the rank of their first message.
type laneHeap []*device

func (h laneHeap) Len() int { return len(h) }

func (h laneHeap) Less(i, j int) bool { return h[i].queue.head.entry.rank < h[j].queue.head.entry.rank }

func (h laneHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i+1, j+1
}

func (h *laneHeap) Push(lane any) {
	*h = append(*h, lane.(*device))
	(*h)[len(*h)-1].index = len(*h)
}

func (h *laneHeap) Pop() any {
	n := len(*h) - 1
	last := (*h)[n]
	(*h)[n] = nil
	*h = (*h)[:n]
	last.index = 0
	return last
}

func (h *laneHeap) remove(lane *device) { heap.Remove(h, lane.index-1) }

// headChanged brings a lane to where it belongs now that it has another first
// message, or none.
func (o *Outbox) headChanged(lane *device) {
	if lane.waitsFor != nil {
		o.stepIn(lane)
	}
	switch {
	case lane.queue.head == nil && lane.index != 0:
		o.ready.remove(lane)
	case lane.queue.head == nil:
	case lane.index != 0:
		heap.Fix(&o.ready, lane.index-1)
	default:
		heap.Push(&o.ready, lane)
	}
}

// standAside takes a ready lane out until the device has room.
func (o *Outbox) standAside(lane, full *device) {
	o.ready.remove(lane)
	lane.waitsFor, lane.nextAside = full, full.aside
	full.aside = lane
}

// stepIn undoes standAside for one lane, but does not make it ready.
func (o *Outbox) stepIn(lane *device) {
	at := &lane.waitsFor.aside
	for *at != lane {
		at = &(*at).nextAside
	}
	*at = lane.nextAside
	lane.waitsFor, lane.nextAside = nil, nil
}

// release makes the lanes ready that wait for a device.
func (o *Outbox) release(d *device) {
	for d.aside != nil {
		lane := d.aside
		d.aside = lane.nextAside
		lane.waitsFor, lane.nextAside = nil, nil
		heap.Push(&o.ready, lane)
	}
}
