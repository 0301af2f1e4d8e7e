package outbox

// A laneHeap holds the lanes that may be served, as a binary heap by the rank of
// their first message, from index 1.
type laneHeap []*device

func (h laneHeap) len() int { return max(0, len(h)-1) }

func (h laneHeap) top() *device { return h[1] }

func (h laneHeap) rank(i int) int64 { return h[i].queue.head.entry.rank }

func (h laneHeap) set(i int, d *device) {
	h[i] = d
	d.index = int32(i)
}

func (h *laneHeap) push(d *device) {
	if len(*h) == 0 {
		*h = append(*h, nil)
	}
	*h = append(*h, d)
	d.index = int32(len(*h) - 1)
	h.fix(d)
}

// fix moves a lane to its place after its first message changed.
func (h laneHeap) fix(d *device) {
	i, rank := int(d.index), d.queue.head.entry.rank
	for i > 1 && rank < h.rank(i/2) {
		h.set(i, h[i/2])
		i /= 2
	}
	for {
		child := 2 * i
		if child+1 < len(h) && h.rank(child+1) < h.rank(child) {
			child++
		}
		if child >= len(h) || rank <= h.rank(child) {
			break
		}
		h.set(i, h[child])
		i = child
	}
	h.set(i, d)
}

func (h *laneHeap) remove(d *device) {
	i, n := int(d.index), len(*h)-1
	last := (*h)[n]
	(*h)[n] = nil
	*h = (*h)[:n]
	d.index = 0
	if last != d {
		h.set(i, last)
		h.fix(last)
	}
}

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
		o.ready.fix(lane)
	default:
		o.ready.push(lane)
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
		o.ready.push(lane)
	}
}
