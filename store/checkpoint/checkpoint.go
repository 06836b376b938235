// Package checkpoint has the state of a run on the disk: how parameters and optimiser are written so that a crash
// leaves the old or the new state, how they are read and verified, which checkpoints are kept, and how a run returns to
// an older one.
//
// A checkpoint is two files. step-N.safetensors is a tensor file with the tensors of the layout, the optimiser's
// moments ("adam.m", "adam.v" and "adam.norm", or "outer.velocity", "theta.exact" if parameters travel as differences,
// "optim.average" or "adam.refuge", and "adam.retreat"), and "gradient.levels" if gradients travel as integers.
// step-N.json is a manifest with the SHA-256 of the first file. best.json is a copy of the manifest of the best
// checkpoint.
//
// A tensor file is in the safetensors format: eight bytes with the length of a header; the header in JSON, with type,
// shape and place of each tensor; and the elements, little-endian, one tensor after the other without gaps.
// Floating-point values keep their bits.
//
// The package knows names, shapes and vectors. It knows no coordinator, no message and no model.
package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
)

var (
	// ErrNotFound is returned when a folder does not have the requested checkpoint.
	ErrNotFound = errors.New("no checkpoint")
	// ErrVoid accompanies ErrNotFound if the run has returned to its initial parameters: everything that was written
	// before is void, and the run has to begin again.
	ErrVoid = errors.New("the run went back to its initial parameters")
	// ErrCorrupt is returned when the requested checkpoint, or every one that could be it, is damaged.
	ErrCorrupt = errors.New("no valid checkpoint")
	// ErrParameter is returned by Checkpoint.Parameter if the parameters have no tensor of that name.
	ErrParameter = errors.New("no such parameter")
)

// MaxParameters is the largest number of parameters in a checkpoint. A manifest that names more is not believed.
const MaxParameters = 1 << 30

// Checkpoint is the state of a run after Step updates. Together with the configuration it determines how the run
// continues, to the bit. The vectors of one that was read are its own; those of one that is written must not be
// changed until Store.Write returns.
type Checkpoint struct {
	// Run is the name under which the run was written, and Seed that of its configuration. A coordinator that
	// continues the run compares both.
	Run  string
	Seed uint64
	Term uint64 // term of the coordinator that wrote it
	Step uint64

	Theta   []float32
	Moments []Moment  // of the optimiser, in its order; none: all are zero
	Levels  []float32 // of the gradients, one for each block (see quantize.Scales); empty: gradients travel as float32

	Validated uint64  // step of the last validation; 0: there was none
	BestStep  uint64  // step with the lowest validation loss; 0: there was none
	BestLoss  float64 // the lowest validation loss; +Inf: there was no validation
	LeftOut   *uint64 // updates that were left out; nil: none ever is, or an earlier release has not counted them

	// Set by Store.Write and by reading.
	ParamsSHA256 string // Hash(Theta)
	Path         string // of the manifest

	// Set by reading. Store.Write uses the fields of the Store.
	Layout   []Tensor // of Theta
	Identity string   // identity of the configuration of its run; empty in old checkpoints
	Data     string   // hash of the data set of its run; empty in old checkpoints
}

// Moment is a vector that the optimiser keeps from one update to the next. It has the size of the parameters, or one
// element.
type Moment struct {
	Name   string
	Values []float32
}

// Tensor is one named part of the parameters: the elements [Offset, Offset+Size). Size is the product of Shape.
type Tensor struct {
	Name   string
	Shape  []int
	Offset int
	Size   int
}

// Parameter returns the tensor of a name and its elements in row-major order, which belong to the checkpoint. It
// returns ErrParameter if there is none.
func (cp *Checkpoint) Parameter(name string) (Tensor, []float32, error) {
	i := slices.IndexFunc(cp.Layout, func(t Tensor) bool { return t.Name == name })
	if i < 0 {
		return Tensor{}, nil, fmt.Errorf("%w: %q in %s", ErrParameter, name, cp.Path)
	}
	t := cp.Layout[i]
	return t, cp.Theta[t.Offset : t.Offset+t.Size : t.Offset+t.Size], nil
}

// CheckLayout returns all faults of a layout for size parameters, joined. An empty layout stands for one tensor
// "theta". The tensors follow each other without gaps, in the order of their offsets, and their names are different
// and none of the reserved ones.
func CheckLayout(layout []Tensor, size int) error {
	if len(layout) == 0 {
		return nil
	}
	var errs []error
	at, seen := 0, make(map[string]bool)
	for _, t := range layout {
		n := 1
		for _, d := range t.Shape {
			n *= d
		}
		if t.Offset != at || t.Size != n || n < 0 {
			errs = append(errs, fmt.Errorf("layout: tensor %s: %d elements at %d, shape %v, want offset %d", t.Name, t.Size,
				t.Offset, t.Shape, at))
		}
		if seen[t.Name] || slices.Contains(reserved(), t.Name) {
			errs = append(errs, fmt.Errorf("layout: tensor %s: the name is taken", t.Name))
		}
		if err := CheckName(t.Name); err != nil {
			errs = append(errs, fmt.Errorf("layout: %w", err))
		}
		at, seen[t.Name] = t.Offset+t.Size, true
	}
	if at != size {
		errs = append(errs, fmt.Errorf("layout covers %d of %d parameters", at, size))
	}
	return errors.Join(errs...)
}

// reserved are the names of the vectors that are not parameters. No tensor of a model may have such a name: the file
// holds both.
func reserved() []string {
	return append(adamMoments(), "adam.norm", "outer.velocity", Exact, Average, Refuge, Retreat, levelsName)
}

const (
	// Average is the name of the moment with the average of the parameters over updates.
	Average = "optim.average"
	// Refuge is the name of the moment with an average that is kept for retreats alone, and is not evaluated.
	Refuge = "adam.refuge"
	// Retreat is the name of the moment with the number of updates left out in a row, and that of retreats.
	Retreat = "adam.retreat"
	// Exact is the name of the moment with the parameters as the optimiser has them, where the run's parameters are
	// what is left of them after rounding.
	Exact = "theta.exact"
)

// Evaluated returns the parameters with which the model of the checkpoint is evaluated: their average over updates if
// the run kept one, and Theta otherwise. They belong to the checkpoint.
func (cp *Checkpoint) Evaluated() []float32 {
	for _, m := range cp.Moments {
		if m.Name == Average {
			return m.Values
		}
	}
	return cp.Theta
}

// Retreats is how often the run has gone back to an average of its parameters.
func (cp *Checkpoint) Retreats() uint64 {
	for _, m := range cp.Moments {
		if m.Name == Retreat && len(m.Values) == 2 {
			return uint64(max(m.Values[1], 0))
		}
	}
	return 0
}

// Hash is the SHA-256 of the parameters as little-endian float32, in hexadecimal: params_sha256.
func Hash(theta []float32) string {
	h := sha256.New()
	New("", nil, theta).WriteTo(h) // a hash accepts every write
	return hex.EncodeToString(h.Sum(nil))
}

// tensors are the tensors of the data file, in order. An empty layout stands for one tensor "theta". They refer to
// the vectors of the checkpoint: parameters, then moments, then levels.
func (cp *Checkpoint) tensors(layout []Tensor) []Array {
	size := len(cp.Theta)
	if len(layout) == 0 {
		layout = []Tensor{{Name: "theta", Shape: []int{size}, Size: size}}
	}
	var list []Array
	for _, t := range layout {
		list = append(list, New(t.Name, t.Shape, cp.Theta[t.Offset:t.Offset+t.Size]))
	}
	for _, m := range cp.Moments {
		list = append(list, New(m.Name, []int{len(m.Values)}, m.Values))
	}
	if n := len(cp.Levels); n > 0 {
		list = append(list, New(levelsName, []int{n}, cp.Levels))
	}
	return list
}

// write writes the data file of a checkpoint and returns its length and SHA-256. Nothing is buffered but a strip of
// each tensor.
func (cp *Checkpoint) write(w io.Writer, layout []Tensor) (n int64, sum string, err error) {
	h := sha256.New()
	metadata := map[string]string{"format": "switchyard", "step": fmt.Sprint(cp.Step)}
	n, err = Write(io.MultiWriter(w, h), metadata, cp.tensors(layout))
	return n, hex.EncodeToString(h.Sum(nil)), err
}

// MomentNames are the names of the moments, in order.
func (cp *Checkpoint) MomentNames() []string {
	names := make([]string, len(cp.Moments))
	for i, m := range cp.Moments {
		names[i] = m.Name
	}
	return names
}
