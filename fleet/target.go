package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"contend/load"
	"contend/protocol"
)

// A Target is driven by workers.
type Target struct {
	fleet   *Fleet
	workers []Worker
	scene   *scene
}

var _ load.RemoteTarget = (*Target)(nil)

// Target returns what workers of the fleet drive together. Files that the target names are sent to
// them; certificates, passwords and tokens are not: each worker reads its own.
func (f *Fleet) Target(target protocol.Target, seed uint64, workers []Worker) (*Target, error) {
	s, err := pack(target)
	if err != nil {
		return nil, err
	}
	s.Seed = seed
	if n := len(encode(s)); n > mostContent {
		return nil, fmt.Errorf("the files of the target take %d bytes as they are sent to workers; expected at most %d", n, mostContent)
	}
	return &Target{f, workers, s}, nil
}

// NewVU fails: workers make the callers.
func (t *Target) NewVU(context.Context, int) (load.VU, error) {
	return nil, errors.New("the callers are the workers'")
}

// opening bounds how long workers may take to make their callers.
const mostOpening = 5 * time.Minute

// OpenRemote has each worker make its share of the callers, by the workers' weights. Where these add up
// to more than there are, they are equal, and of fewer callers than workers each of the first ones makes one.
func (t *Target) OpenRemote(ctx context.Context, vus int) (load.Remote, error) {
	d := newDrive(t.fleet, t.workers, Weights(t.workers))
	if vus < sum(d.weights) {
		n := min(len(t.workers), vus)
		d = newDrive(t.fleet, t.workers[:n], slices.Repeat([]int{1}, n))
	}
	plans, err := load.Plan{VUs: vus}.Split(d.weights)
	if err != nil {
		return nil, err
	}
	all := *t.scene
	all.VUs = vus
	content := encode(all)
	opening := t.fleet.begin(d.session, content)
	short, cancel := context.WithTimeout(ctx, mostOpening)
	defer cancel()
	err = d.each(func(i int, w Worker) error {
		own := opening
		own.VUs, own.Share = plans[i].VUs, plans[i].Share
		_, err := t.fleet.ask(short, w.ID, &order{Session: d.session, Number: d.number, Open: &own})
		return err
	})
	t.fleet.opened(d.session)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}
