package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"contend/calibrate"
	"contend/internal/unit"
)

// CalibrationSchema is the version of the form of a stored calibration.
const CalibrationSchema = "contend/calibration/1"

// A Calibration is what is known of a machine, and which machine that is.
type Calibration struct {
	Schema      string      `json:"schema"`
	Version     string      `json:"version"` // of contend
	Environment Environment `json:"environment"`
	calibrate.Calibration
}

// Quote is the calibration without its data and without a gate, for the documents of other commands.
func (c Calibration) Quote() *Calibration {
	c.Comparisons, c.Gate = nil, nil
	return &c
}

// SameMachine reports whether figures of both environments may be set side by side:
// only the time, the version of Go and which CPUs each side had may differ, not how many.
func (e Environment) SameMachine(o Environment) bool {
	g, s, p := e.like()
	og, os, op := o.like()
	same := g == og && s == os && p == op
	e.Started, o.Started, e.Go, o.Go, e.CPUs, o.CPUs = time.Time{}, time.Time{}, "", "", CPUs{}, CPUs{}
	return same && e == o
}

// What a stored calibration may hold: far beyond what is ever written, it bounds
// what a damaged or hostile file can cost.
const (
	maxCalibrationBytes   = 8 << 20
	maxCalibrationMetrics = 20
)

// Write writes the calibration as indented JSON.
func (c *Calibration) Write(w io.Writer) error {
	data, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return fmt.Errorf("calibration: %w", err)
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// ReadCalibration reads a stored calibration and recomputes what follows from
// its data.
func ReadCalibration(r io.Reader) (*Calibration, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxCalibrationBytes+1))
	if err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	if len(data) > maxCalibrationBytes {
		return nil, fmt.Errorf("calibration: longer than %s", unit.Bytes(maxCalibrationBytes))
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	if head.Schema != CalibrationSchema {
		return nil, fmt.Errorf("calibration: schema is %.40q, this version reads %q", head.Schema, CalibrationSchema)
	}
	c := new(Calibration)
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	if err := c.Design.Validate(); err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	if c.Interrupted || c.PlannedRounds < 1 || len(c.Comparisons) == 0 {
		return nil, errors.New("calibration: it is not complete")
	}
	if c.Design.Block > calibrate.MaxLength {
		return nil, fmt.Errorf("calibration: block is %v, at most %v is allowed", c.Design.Block, calibrate.MaxLength)
	}
	if n := len(c.Design.Metrics); n > maxCalibrationMetrics {
		return nil, fmt.Errorf("calibration: %d metrics, at most %d are allowed", n, maxCalibrationMetrics)
	}
	c.Derive()
	return c, nil
}
