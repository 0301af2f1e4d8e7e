package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"contend/report"
	"contend/trial"
)

var errNoFolder = errors.New("no folder to store a calibration in")

// calibrationFile is where the calibration of this machine is stored for this user.
func calibrationFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoFolder, err)
	}
	return filepath.Join(dir, "contend", "calibration.json"), nil
}

// storeCalibration replaces the file in one step and makes its folder.
func storeCalibration(path string, c *report.Calibration) error {
	var buf bytes.Buffer
	if err := c.Write(&buf); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("store the calibration: %w", err)
	}
	return replaceFile(path, buf.Bytes())
}

// quoteCalibration adds the stored calibration of this machine to the document, or a
// note that says why it is missing. It never fails: verdicts do not depend on it.
func (a *app) quoteCalibration(doc *report.Document) {
	path, err := calibrationFile()
	var c *report.Calibration
	if err == nil {
		c, err = readCalibration(path)
	}
	here := doc.Environment
	here.CPUs = report.PlacedOn(a.pins.process.Layout)
	note := ""
	switch {
	case errors.Is(err, errNoFolder), errors.Is(err, fs.ErrNotExist):
		note = "This machine is not calibrated; contend calibrate measures in about two minutes which differences it can detect."
	case err != nil:
		note = fmt.Sprintf("The stored calibration cannot be used (%s); run contend calibrate again.", firstLine(err))
	case !c.Environment.SameMachine(here):
		note = "The stored calibration is for another machine, kernel or number of CPUs; run contend calibrate in this set-up."
	default:
		doc.Calibration = c.Quote()
		return
	}
	doc.Notes = append(doc.Notes, note)
}

// useCalibration takes the length of the blocks from the calibration unless it was
// given, and as many pairs as measure for about as long as the default.
func (c *compareFlags) useCalibration(d *trial.Design, doc *report.Document) {
	if _, given := c.given["block"]; doc.Calibration == nil || given {
		return
	}
	block := doc.Calibration.Design.Block
	sized := d.InBlocks(block)
	if _, given := c.given["pairs"]; given {
		sized.Pairs = d.Pairs
	}
	*d = sized
	doc.Notes = append(doc.Notes, fmt.Sprintf("Blocks of %v, as calibrated; use --block for another length.", block))
}

// readCalibration takes regular files only: a pipe could keep it waiting.
func readCalibration(path string) (*report.Calibration, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return report.ReadCalibration(f)
}

// firstLine shortens an error to what fits in a sentence.
func firstLine(err error) string {
	const most = 200
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line[:min(len(line), most)]
}
