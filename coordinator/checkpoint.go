package coordinator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/optim"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

// Checkpoint is the state of a run after Step updates: all that its continuation depends on beside the configuration.
type Checkpoint struct {
	Run  string
	Seed uint64
	Term uint64 // incarnation of the coordinator that wrote it
	Step uint64

	Theta   []float32
	Moments []Moment  // of the optimiser, in its order; none: they are zero
	Levels  []float32 // of the gradients, by block: see quantize.Scales; empty: they travel as float32

	Validated    uint64  // step of the last validation; 0: none
	BestStep     uint64  // step with the lowest validation loss; 0: none
	BestLoss     float64 // that loss; +Inf: none
	ParamsSHA256 string  // HashParameters(Theta)
	Path         string  // of the manifest that it was read from

	Identity string // Config.Identity of the run that it is of; empty in old ones
	Data     string // hash of the data set of that run; empty in old ones
}

// Moment is a vector that the optimiser carries from one update to the next.
type Moment = optim.Moment

// manifest is the JSON beside a checkpoint's data. It is written last: a checkpoint without it does not exist.
type manifest struct {
	Format       int      `json:"format"`
	Run          string   `json:"run"`
	Seed         uint64   `json:"seed"`
	Term         uint64   `json:"term"`
	Step         uint64   `json:"step"`
	Parameters   int      `json:"parameters"`
	Moments      []string `json:"moments,omitempty"`         // beside the parameters in the data; before format 3 those of Adam
	Blocks       int      `json:"gradient_blocks,omitempty"` // of which there are levels
	Identity     string   `json:"job_sha256,omitempty"`      // of what decides the bits in the job, not of all of it
	Data         string   `json:"data_sha256,omitempty"`     // of the data set; empty: none, or format 1
	Validated    uint64   `json:"validated_step,omitempty"`
	BestStep     uint64   `json:"best_step,omitempty"`
	BestLoss     *float64 `json:"best_loss,omitempty"`
	ParamsSHA256 string   `json:"params_sha256"`
	File         string   `json:"file"`
	Bytes        int64    `json:"bytes"`
	SHA256       string   `json:"sha256"`
}

const (
	// The formats that are read. Format 1 has no job_sha256 and data_sha256. Format 3 names its moments, and may have
	// gradient_blocks; with the moments of Adam alone format 2 is written, which older programs read.
	adamFormat, manifestFormat = 2, 3
	bestManifest               = "best.json"
	dataSuffix                 = ".safetensors"
	// maxParameters bounds what a manifest can make a reader allocate, beside the size of the file.
	maxParameters = 1 << 30
	maxMoments    = 8
)

// HashParameters is the SHA-256 of the parameters as little-endian float32, in hexadecimal.
func HashParameters(theta []float32) string {
	sum := sha256.Sum256(wire.FloatBytes(theta))
	return hex.EncodeToString(sum[:])
}

// Restore reads the newest valid checkpoint of a folder. The second result holds an error, with file and reason, for
// each newer one that was skipped. Without a valid one it returns ErrNoCheckpoint or ErrCorrupt.
func Restore(dir string) (*Checkpoint, []error, error) { return RestoreUpTo(dir, math.MaxUint64) }

// RestoreUpTo is Restore for the newest valid checkpoint of at most that step.
func RestoreUpTo(dir string, last uint64) (*Checkpoint, []error, error) {
	names, err := manifests(dir)
	if err != nil {
		return nil, nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		step, ok := stepOf(name)
		return ok && step > last
	})
	if len(names) == 0 {
		if valid, err := lastValid(dir); err == nil && valid != math.MaxUint64 {
			return nil, nil, fmt.Errorf("%w in %s: %w", ErrNoCheckpoint, dir, ErrVoid)
		}
		return nil, nil, fmt.Errorf("%w in %s", ErrNoCheckpoint, dir)
	}
	var skipped []error
	for _, name := range slices.Backward(names) {
		cp, err := readCheckpoint(filepath.Join(dir, name))
		if err == nil {
			return cp, skipped, nil
		}
		skipped = append(skipped, err)
	}
	return nil, skipped, fmt.Errorf("%w in %s: %w", ErrCorrupt, dir, errors.Join(skipped...))
}

// RestoreBest reads the checkpoint with the lowest validation loss, or returns ErrNoCheckpoint if none was validated.
// One that was and cannot be read is ErrCorrupt, with the manifest.
func RestoreBest(dir string) (*Checkpoint, error) {
	path := filepath.Join(dir, bestManifest)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w with a validation in %s", ErrNoCheckpoint, dir)
	}
	cp, err := readCheckpoint(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return cp, nil
}

// manifests lists the manifests of a folder by step, without those that a rollback has made void.
func manifests(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	last, err := lastValid(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries { // ReadDir sorts, and the steps have leading zeros
		if !strings.HasPrefix(e.Name(), "step-") || !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		if step, ok := stepOf(e.Name()); ok && step > last {
			continue
		}
		names = append(names, e.Name())
	}
	return names, nil
}

func stem(step uint64) string { return fmt.Sprintf("step-%010d", step) }

// readCheckpoint reads and verifies one checkpoint. All errors name the manifest.
func readCheckpoint(path string) (*Checkpoint, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read checkpoint: %w", err)
	}
	var man manifest
	if err := json.Unmarshal(text, &man); err != nil {
		return nil, fmt.Errorf("checkpoint %s: manifest: %w", path, err)
	}
	if err := man.check(); err != nil {
		return nil, fmt.Errorf("checkpoint %s: manifest: %w", path, err)
	}
	data, err := man.data(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", path, err)
	}
	n := man.Parameters
	cp := &Checkpoint{
		Run: man.Run, Seed: man.Seed, Term: man.Term, Step: man.Step, Validated: man.Validated,
		BestStep: man.BestStep, BestLoss: math.Inf(1), ParamsSHA256: man.ParamsSHA256, Path: path, Identity: man.Identity, Data: man.Data,
		Theta: make([]float32, n), Levels: make([]float32, man.Blocks),
	}
	if man.BestLoss != nil {
		cp.BestLoss = *man.BestLoss
	}
	next := func(dst []float32) {
		wire.GetFloats(dst, data[:4*len(dst)])
		data = data[4*len(dst):]
	}
	next(cp.Theta)
	for _, name := range man.moments() {
		m := Moment{Name: name, Values: make([]float32, n)}
		next(m.Values)
		cp.Moments = append(cp.Moments, m)
	}
	next(cp.Levels)
	if got := HashParameters(cp.Theta); got != man.ParamsSHA256 {
		return nil, fmt.Errorf("checkpoint %s: parameters have SHA-256 %s, the manifest says %s", path, got, man.ParamsSHA256)
	}
	return cp, nil
}

func (man *manifest) check() error {
	switch {
	case man.Format < 1 || man.Format > manifestFormat:
		return fmt.Errorf("format %d, this program reads 1 to %d", man.Format, manifestFormat)
	case man.Parameters <= 0 || man.Parameters > maxParameters:
		return fmt.Errorf("%d parameters", man.Parameters)
	case len(man.Moments) > maxMoments:
		return fmt.Errorf("%d moments", len(man.Moments))
	case man.Blocks < 0 || man.Blocks > man.Parameters:
		return fmt.Errorf("%d blocks of gradients for %d parameters", man.Blocks, man.Parameters)
	case man.File != stem(man.Step)+dataSuffix:
		return fmt.Errorf("file %q for step %d", man.File, man.Step)
	}
	return nil
}

// adamMoments are the names of Adam's.
var adamMoments = []string{"adam.m", "adam.v"}

func (man *manifest) moments() []string {
	if man.Format <= adamFormat {
		return adamMoments
	}
	return man.Moments
}

// data returns the verified vectors of a checkpoint, without the header of the file.
func (man *manifest) data(dir string) ([]byte, error) {
	path := filepath.Join(dir, man.File)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	body := 4 * (int64(man.Parameters)*int64(1+len(man.moments())) + int64(man.Blocks))
	if info.Size() != man.Bytes || man.Bytes < 8+body {
		return nil, fmt.Errorf("%s has %d bytes, the manifest says %d", man.File, info.Size(), man.Bytes)
	}
	all, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(all)
	if got := hex.EncodeToString(sum[:]); got != man.SHA256 {
		return nil, fmt.Errorf("%s has SHA-256 %s, the manifest says %s", man.File, got, man.SHA256)
	}
	return all[int64(len(all))-body:], nil
}
