package store

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/internal/vector"
)

// MagnitudesFile is the file, in the folder of a run, with the magnitudes of its values.
const MagnitudesFile = "magnitudes.json"

// Magnitudes are those of the values of each tensor in the course of a run. They are measured at some steps only.
type Magnitudes struct {
	Tensors []string         `json:"tensors"`
	Records []StepMagnitudes `json:"records"` // by step
}

// StepMagnitudes are those after a step.
type StepMagnitudes struct {
	Step uint64 `json:"step"`
	vector.Magnitudes
}

// Cut drops the records after step.
func (s *Magnitudes) Cut(step uint64) {
	s.Records = slices.DeleteFunc(s.Records, func(r StepMagnitudes) bool { return r.Step > step })
}

// ReadMagnitudes reads the magnitudes of the named run; a run of an older release has none. A file that is not
// readable JSON, or far too large, is ErrDamaged.
func ReadMagnitudes(dir, name string) (Magnitudes, error) {
	s := Magnitudes{Tensors: []string{}, Records: []StepMagnitudes{}}
	if err := readJSON(dir, name, MagnitudesFile, maxFile, &s); err != nil {
		return Magnitudes{}, err
	}
	return s, nil
}

// WriteMagnitudes replaces the file of magnitudes. A reader, and a crash, finds the old or the new content.
func (r *Run) WriteMagnitudes(s Magnitudes) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode %s: %w", MagnitudesFile, err)
	}
	if err := disk.Write(r.disk, r.Path(MagnitudesFile), data); err != nil {
		return fmt.Errorf("write %s: %w", r.Path(MagnitudesFile), err)
	}
	return nil
}
