package paper

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/protocol"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/trained"
)

// ErrProtocol is returned when a protocol does not fit the environment of a run.
var ErrProtocol = errors.New("no such protocol for the environment of the run")

// measure measures a trained run by a protocol, unless that was done.
func (s *Study) measure(t Trial, name string) error {
	folder := filepath.Join(s.RunsDir, t.Name)
	if _, err := os.Stat(filepath.Join(folder, "tables", name+".json")); err == nil {
		return nil
	}
	r, err := trained.Of(t.Config, folder, checkpoint.Best)
	if errors.Is(err, checkpoint.ErrNotFound) { // nothing was validated
		r, err = trained.Of(t.Config, folder, checkpoint.Last)
	}
	if err != nil {
		return err
	}
	data, err := job.Recordings(t.Config, folder)
	if err != nil {
		return err
	}
	for _, p := range protocol.For(t.Config.Env.Kind, r.Env) {
		if p.Name == name {
			o := trained.MeasureOptions{Recordings: data, Threads: s.Threads}
			if p.Episodes > 0 {
				o.Episodes = s.Episodes
			}
			_, err := r.Measure(p, o)
			return err
		}
	}
	return fmt.Errorf("protocol %s: %w (%s)", name, ErrProtocol, t.Config.Env.Kind)
}

// ReadNumbers reads what a protocol found for the run of a folder; nil if it was not measured.
func ReadNumbers(folder, protocol string) (eval.Numbers, error) {
	path := filepath.Join(folder, "tables", protocol+".json")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what was measured: %w", err)
	}
	n, err := eval.ReadNumbers(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, store.ErrDamaged, err)
	}
	return n, nil
}

// Curves are the columns of the CSV file of a protocol, by heading.
type Curves map[string][]float64

// ReadCurves reads the curves that a protocol found for the run of a folder; nil if it was not measured. Cells that
// hold no number are NaN.
func ReadCurves(folder, protocol string) (Curves, error) {
	path := filepath.Join(folder, "tables", protocol+".csv")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what was measured: %w", err)
	}
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("%s: %w: %w", path, store.ErrDamaged, err)
	}
	c := Curves{}
	for j, heading := range rows[0] {
		for _, row := range rows[1:] {
			v, err := strconv.ParseFloat(row[j], 64)
			if err != nil {
				v = math.NaN()
			}
			c[heading] = append(c[heading], v)
		}
	}
	return c, nil
}
