package experiment

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"contend/internal/unit"
	"contend/report"
	"contend/trial"
)

// roundTripsName is the analysis of the way from a counter to its Redis.
const roundTripsName = "round_trips"

// redisMetrics begins the names of what a counter counts on its way to Redis.
const redisMetrics = "contend_counter_redis_"

// A tripCount is what processes of an arm counted from their start to their end.
type tripCount struct {
	increments, roundTrips, commands, conflicts float64
	unread                                      error // why the last that could not be read could not
}

func (c *tripCount) add(d tripCount) {
	c.increments += d.increments
	c.roundTrips += d.roundTrips
	c.commands += d.commands
	c.conflicts += d.conflicts
}

type partArm struct{ part, arm string }

// trips are the counts of all arms.
type trips map[partArm]*tripCount

// readAtStop has the arm's server say what it counted before it ends. Its process
// was started for this arm, so the counts began at zero.
func (t trips) readAtStop(live *trial.Live, key partArm) {
	stop, address := live.Stop, live.Address
	live.Stop = func(ctx context.Context) error {
		count, err := readTrips(ctx, address)
		t.add(key, count, err)
		return stop(ctx)
	}
}

func (t trips) add(key partArm, count tripCount, err error) {
	if t[key] == nil {
		t[key] = &tripCount{}
	}
	if err != nil {
		t[key].unread = err
		return
	}
	t[key].add(count)
}

// Bounds of an answer to /metrics.
const (
	tripsTimeout = 2 * time.Second
	maxMetrics   = 1 << 20
)

// readTrips asks the server that an address belongs to for its counts.
func readTrips(ctx context.Context, address string) (tripCount, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return tripCount{}, fmt.Errorf("%s has no /metrics over plain HTTP", address)
	}
	ctx, cancel := context.WithTimeout(ctx, tripsTimeout)
	defer cancel()
	at := url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/metrics"}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return tripCount{}, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return tripCount{}, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return tripCount{}, fmt.Errorf("%s answers %s", &at, answer.Status)
	}
	return parseTrips(io.LimitReader(answer.Body, maxMetrics))
}

// parseTrips reads the counts from Prometheus' text form; figures with labels
// are added up, and missing ones are zero.
func parseTrips(r io.Reader) (tripCount, error) {
	sums := map[string]float64{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line, ours := strings.CutPrefix(lines.Text(), redisMetrics)
		name, _, _ := strings.Cut(line, " ")
		name, _, _ = strings.Cut(name, "{")
		if !ours {
			continue
		}
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return tripCount{}, fmt.Errorf("/metrics: %q is no line of a metric", lines.Text())
		}
		sums[name] += value
	}
	return tripCount{increments: sums["increments_total"], roundTrips: sums["round_trips_total"],
		commands: sums["commands_total"], conflicts: sums["conflicts_total"]}, lines.Err()
}

// roundTrips says how often the arms of each part went to Redis for an increment.
func (r *runner) roundTrips(context.Context) ([]report.Analysis, error) {
	a := report.Analysis{
		Name: roundTripsName, Title: "Round trips to Redis for an increment",
		Columns: []string{"part", "variant", "increments", "round trips", "commands", "conflicts", "times fewer round trips"},
		Sentence: []string{
			"Per increment, counted by the servers themselves over all rounds, warm-ups included; where a server has replicas, by one of them in each round.",
			"A round trip is one write to a connection, with as many commands as it holds; a command is what is sent, and what a script does inside is part of it. " +
				"Conflicts are attempts that another change came before. Times fewer: the most round trips in the part ÷ those of the variant.",
		},
	}
	for _, p := range r.Parts {
		rows, notes := r.trips.rows(p.Name, r.names(p))
		a.Rows, a.Sentence = append(a.Rows, rows...), append(a.Sentence, notes...)
	}
	if len(a.Rows) == 0 {
		a.Sentence = append([]string{"No server counted a way to Redis."}, a.Sentence[2:]...)
	}
	return []report.Analysis{a}, nil
}

// rows are those of a part's arms that went to Redis, and notes say which
// servers could not be read.
func (t trips) rows(part string, arms []string) (rows [][]string, notes []string) {
	most := 0.0
	for _, arm := range arms {
		if c := t[partArm{part, arm}]; c != nil && c.increments > 0 {
			most = max(most, c.roundTrips/c.increments)
		}
	}
	for _, arm := range arms {
		c := t[partArm{part, arm}]
		if c == nil {
			continue
		}
		if c.increments > 0 {
			rows = append(rows, append([]string{part, arm}, c.cells(most)...))
		}
		if c.unread != nil {
			notes = append(notes, fmt.Sprintf("What %s counted could not always be read%s: %v.", arm, ofPart(part), c.unread))
		}
	}
	return rows, notes
}

// cells are the figures of a row; most is the most round trips of the part.
func (c *tripCount) cells(most float64) []string {
	fewer := "-"
	if c.roundTrips > 0 {
		fewer = fmt.Sprintf("%.1f", most/(c.roundTrips/c.increments))
	}
	each := func(total float64) string { return fmt.Sprintf("%.3f", total/c.increments) }
	return []string{unit.Number(c.increments), each(c.roundTrips), each(c.commands), each(c.conflicts), fewer}
}
