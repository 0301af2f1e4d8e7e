package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"time"

	"contend/failure"
	"contend/load"
	"contend/probe"
	"contend/setting"
	"contend/stat"
	"contend/why/symbol"
)

// Progress is a glance at a trial under way.
type Progress struct {
	Done  float64 // share of the blocks, 0 to 1
	Label string  // what is running
	// Left is about how long it goes on; 0: not known.
	Left time.Duration
	// Between says that no block follows at once: what takes a moment disturbs none.
	Between bool
	// Trials returns what the rounds of a comparison have shown so far, if it is called while the
	// progress is reported; nil: no round has ended since.
	Trials func() *Trials
}

// Trials are the blocks of a comparison and what follows from them. Results
// and Comparisons are not stored: Derive computes them from the rest.
type Trials struct {
	Arms        []string     `json:"arms"` // the first is the baseline
	Design      Design       `json:"design"`
	Blocks      Blocks       `json:"blocks"`
	Rounds      []Cell       `json:"rounds"`
	Results     []Cell       `json:"-"`
	Comparisons []Comparison `json:"-"`
	// Starts are the random set-ups of the arms and how they warmed up.
	Starts  []Start  `json:"starts,omitempty"`
	Warmups []Warmup `json:"warmups,omitempty"`
	// Probes are what the machine cost between stretches of blocks.
	Probes []Probe `json:"probes,omitempty"`
	// Elapsed is how long all rounds took; 0 in documents that do not say it.
	Elapsed time.Duration `json:"elapsed_ns,omitempty"`
	// TimeUp says why Design.Duration allows no verdict, which servers showed that respond slowly, or not over all connections: Rounds are then what was driven
	// before the first (their Round is 0). nil: it allows one.
	TimeUp *TimeUp `json:"time_up,omitempty"`
	// AtOnce are the levels at which the arms were driven at the same time after the first round, because they respond slowly and hardly use the CPU.
	AtOnce []int `json:"at_once_levels,omitempty"`
	// Looks are the numbers of rounds after which it looked whether it is decided. Those
	// of documents that have none ended after the rounds of their design.
	Looks []Look `json:"looks,omitempty"`
	// ChangedOver are the comparisons at a constant rate, at levels where the generator was
	// the limit: theirs are among Comparisons, and not those whose place they take.
	ChangedOver []ChangeOver `json:"changed_over,omitempty"`
	// Why says what the arms spent their CPU time on; nil: nobody asked.
	Why *Diagnosis `json:"why,omitempty"`
	// Weighted says that rounds of percentiles have weights; those of older documents all have the
	// same, and their percentiles are those of metric.Name.Of.
	Weighted bool `json:"weighted,omitempty"`
	// InProcess is set when an arm has no process that was fresh in each round.
	InProcess bool `json:"in_process,omitempty"`

	machine machine           // read from Probes by Derive
	levels  map[int][]float64 // of each look, by how many effects share the level: see levelsAmong
}

// A Start is one start of an arm.
type Start struct {
	Arm   string `json:"arm"`
	Round int    `json:"round"` // from 1
	Order int    `json:"order"` // from 1, position among the starts of the round
	Setup
}

// A Probe was taken in a round between two stretches of blocks: the first of a
// level has Stretch 0, and the blocks after a probe have the stretch that
// follows its own.
type Probe struct {
	Concurrency int `json:"concurrency"`
	Round       int `json:"round"`
	Stretch     int `json:"stretch"`
	probe.Sample
}

// Compare drives the arms by the plan in interleaved blocks; the first arm is
// the baseline of all others. Within a round all arms are alive and each pair
// is one block of every arm, in an order that turns around from pair to pair
// (ABBA) and begins at random; see also Design.Alone. It ends when every comparison's primary metric is decided
// (see Design.Precision), and else after Design.Rounds or Design.Duration, which may be too short for any verdict: see
// Trials.TimeUp. On an error, and when ctx is done, the trials so far are returned with it.
func Compare(ctx context.Context, arms []Arm, plan load.Plan, d Design, observe func(Progress)) (*Trials, error) {
	c, err := newComparing(arms, plan, d, observe)
	if err != nil {
		return nil, err
	}
	limited, cancel := Limit(ctx, d.Most(len(arms)-1)*(100+overtime)/100)
	defer cancel()
	if err = c.rounds(limited); IsTimeUp(limited) && !c.neverReady(err) {
		err = c.timeUp()
	}
	if short, ok := errors.AsType[*TooShortError](err); ok {
		c.tooShort(short)
		return c.trials, nil
	}
	if err == nil && d.ChangesOver && plan.Pacer == nil {
		if err = c.changeOver(limited); IsTimeUp(limited) || errors.As(err, new(*TooShortError)) {
			err = nil
		}
		c.trials.Derive()
	}
	return c.trials, err
}

// overtime is by how many percent a comparison may exceed its time: whatever still runs then is dropped, which only
// happens with servers that never respond. With other servers no round begins that would not end in time.
const overtime = 10

// neverReady reports whether the first server to be started had all the time, and was not ready then.
func (c *comparing) neverReady(err error) bool {
	return err != nil && len(c.trials.Starts) == 0 &&
		slices.ContainsFunc(failure.All(err), func(f failure.Failure) bool { return f.Kind == failure.NotReady })
}

// timeUp is the mistake that the time was over before a round was; nil where one is done.
func (c *comparing) timeUp() error {
	if c.trials.roundsDone() > 0 {
		return nil
	}
	d := c.trials.Design
	d.Duration = d.Most(len(c.arms) - 1)
	return d.tooShort(0, time.Since(c.began))
}

// tooShort ends trials for which their time is too short: what is known of the arms is what came before a first round.
func (c *comparing) tooShort(short *TooShortError) {
	t := c.trials
	t.TimeUp = &TimeUp{Lacks: short.Lacks, Needs: short.Least}
	t.Design.Duration = t.Design.Most(len(t.Arms) - 1)
	t.Rounds, t.Blocks, t.Starts, t.Probes, t.Looks = c.seen, nil, nil, nil, nil
	t.Elapsed = time.Since(c.began)
	t.Derive()
}

// dropPatience leaves out of a document what newComparing adds to all plans, unless it decided when an outage ended the run.
func (c *Cell) dropPatience() {
	c.Plan.DespiteErrors = c.Plan.DespiteErrors && c.Stopped == load.StoppedByOutage
}

// see keeps what an arm showed before it was measured. If it left connections without a response, no round would say more: then it returns
// a *TooShortError.
func (c *comparing) see(arm int, cell Cell) error {
	if cell.Result == nil || cell.Planned == 0 {
		return nil
	}
	cell.Arm = c.arms[arm].Name
	cell.dropPatience()
	c.seen = slices.DeleteFunc(c.seen, func(o Cell) bool { return o.Arm == cell.Arm && o.Concurrency == cell.Concurrency })
	c.seen = append(c.seen, cell)
	if cell.Starved > 0 && len(c.trials.Design.Levels) == 1 {
		const lacks = "a round in which all connections get responses"
		return &TooShortError{setting.At(&c.asked, &c.asked.Duration).Wrong("has no room for %s", lacks), 0, lacks}
	}
	return nil
}

func newComparing(arms []Arm, plan load.Plan, d Design, observe func(Progress)) (*comparing, error) {
	asked := d
	if len(d.Levels) == 0 {
		d.Levels = []int{plan.VUs}
	}
	if err := d.Validate(); err != nil {
		return nil, err
	}
	if len(arms) < 2 || d.Duet != nil && len(arms) != 2 {
		return nil, fmt.Errorf("compare: have %d variants, at least 2 are needed, and exactly 2 for a duet", len(arms))
	}
	plan.DespiteErrors = true // the first round shows it of all variants, and ends the trial
	c := &comparing{
		arms: arms, plan: plan, asked: asked,
		random:   rand.New(rand.NewPCG(d.Seed, 1)),
		blocks:   map[int]blockLength{},
		trials:   &Trials{Design: d, Weighted: true},
		counting: d.counting(),
	}
	for _, arm := range arms {
		c.trials.Arms = append(c.trials.Arms, arm.Name)
	}
	c.observe = func(p Progress) {
		if c.done = p.Done; observe != nil {
			observe(p)
		}
	}
	return c, nil
}

type comparing struct {
	arms     []Arm
	plan     load.Plan
	observe  func(Progress)
	random   *rand.Rand
	blocks   map[int]blockLength // by level, fixed in the first round
	levels   int                 // done so far, over all rounds
	counting counting
	trials   *Trials
	began    time.Time
	state    string // what the last look saw

	saw    probe.Sample // the last look at the machine
	looked time.Time

	diagnosis *Diagnosis // what blocks are sampled for; nil: they are not
	resolver  symbol.Resolver
	inspected bool // the arm that was sampled last can be
	shared    bool // arms are one server

	asked   Design // before any default was filled in
	givenUp []int  // levels that get no further rounds
	learnt  bool   // the pilot showed that all arms are level after the warm-up
	seen    []Cell // the last warm-up of each arm and level
	// holds is set if this is a change-over to a constant rate: its first round must sustain the rate well enough
	// for verdicts of this kind, or else it is the last one.
	holds *stat.Kind
	// ended is set if no further round could decide anything: see useless.
	ended bool
	// done is the share of the progress reported so far. left is what the change-over under way may add to it.
	done, left float64
}

// maxPadding bounds the random padding of the environment, in bytes.
const maxPadding = 4096

// round starts fresh arms and drives them at every level.
func (c *comparing) round(ctx context.Context, n int) (err error) {
	r := &round{comparing: c, number: n, lives: make([]*Live, len(c.arms))}
	drive := r.visits
	if c.trials.Design.Alone == "" {
		drive = r.level
		if err := r.startAll(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stopAll(ctx, r.lives)) }()
	}
	levels := c.trials.Design.Levels
	for _, i := range c.random.Perm(len(levels)) {
		if slices.Contains(c.givenUp, levels[i]) {
			continue
		}
		r.before = r.order
		c.tell(Progress{Done: c.done, Label: fmt.Sprintf("%s, concurrency %d", c.roundsSoFar(n), levels[i]), Between: true})
		if err := drive(ctx, levels[i]); err != nil {
			return err
		}
		c.levels++
	}
	return nil
}

// startAll starts all arms in random order.
func (r *round) startAll(ctx context.Context) (err error) {
	order := r.random.Perm(len(r.arms))
	setups := r.setups()
	for i, arm := range order {
		r.trials.Starts = append(r.trials.Starts, Start{r.arms[arm].Name, r.number, i + 1, setups[arm]})
	}
	if r.lives, err = startAll(ctx, r.arms, setups, order); err != nil {
		return err
	}
	for i, live := range r.lives {
		for _, other := range r.lives[:i] {
			r.shared = r.shared || hostOf(live.Address) == hostOf(other.Address)
		}
		r.trials.InProcess = r.trials.InProcess || live.Subject == nil
	}
	return nil
}

// hostOf is the host and port of an address, or all of it if it is not a URL.
func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return address
}

// padded draws the paddings of so many starts.
func padded(random *rand.Rand, starts int) []Setup {
	setups := make([]Setup, starts)
	for i := range setups {
		setups[i].Padding = random.IntN(maxPadding + 1)
	}
	return setups
}

// setups draws what is random about each arm's start.
func (c *comparing) setups() []Setup {
	setups := padded(c.random, len(c.arms))
	for i := range setups {
		setups[i].Counted, setups[i].Named = c.counting.always(), c.diagnosis != nil
	}
	for i, set := range c.random.Perm(len(c.trials.Design.Duet)) {
		setups[i].CPUs = c.trials.Design.Duet[set]
	}
	return setups
}
