package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/disk"
)

// manifest is the JSON file of a checkpoint. It is written last: without it, there is no checkpoint. It says how
// large the data file is and what its SHA-256 is, so a data file that is torn, or of another checkpoint, is
// recognised.
type manifest struct {
	Format       int      `json:"format"`
	Run          string   `json:"run"`
	Seed         uint64   `json:"seed"`
	Term         uint64   `json:"term"`
	Step         uint64   `json:"step"`
	Parameters   int      `json:"parameters"`
	Moments      []string `json:"moments,omitempty"`         // vectors that are not parameters; before format 3, Adam's
	Blocks       int      `json:"gradient_blocks,omitempty"` // number of levels
	Identity     string   `json:"job_sha256,omitempty"`      // identity of the configuration
	Data         string   `json:"data_sha256,omitempty"`     // hash of the data set; empty: none, or format 1
	Validated    uint64   `json:"validated_step,omitempty"`
	BestStep     uint64   `json:"best_step,omitempty"`
	BestLoss     *float64 `json:"best_loss,omitempty"`
	LeftOut      *uint64  `json:"left_out,omitempty"`
	ParamsSHA256 string   `json:"params_sha256"`
	File         string   `json:"file"`
	Bytes        int64    `json:"bytes"`
	SHA256       string   `json:"sha256"`
}

const (
	// The formats that can be read. Format 1 has no job_sha256 and data_sha256. Format 3 has the names of the moments,
	// and may have gradient_blocks. Format 4 may have moments of one element, and the average of the parameters among
	// the moments, which stands for them in an evaluation. The oldest format is written that can hold a checkpoint, so
	// that older programs can read it.
	adamFormat, namedFormat, latestFormat = 2, 3, 4

	bestManifest   = "best.json"
	manifestSuffix = ".json"
	dataSuffix     = ".safetensors"
	levelsName     = "gradient.levels"
	maxMoments     = 8
	maxManifest    = 1 << 20 // bytes
)

// adamMoments are the names of Adam's moments.
func adamMoments() []string { return []string{"adam.m", "adam.v"} }

// newManifest describes a checkpoint, without its data file. Bytes and SHA256 are set when that is written.
func newManifest(cp *Checkpoint, identity, data string) *manifest {
	man := &manifest{
		Format: adamFormat, Run: cp.Run, Seed: cp.Seed, Term: cp.Term, Step: cp.Step, Parameters: len(cp.Theta),
		Blocks:   len(cp.Levels),
		Identity: identity, Data: data,
		Validated: cp.Validated, BestStep: cp.BestStep, LeftOut: cp.LeftOut,
		ParamsSHA256: cp.ParamsSHA256, File: stem(cp.Step) + dataSuffix,
	}
	if list := cp.MomentNames(); man.Blocks > 0 || !slices.Equal(list, adamMoments()) {
		man.Format, man.Moments = namedFormat, list
	}
	if slices.ContainsFunc(cp.Moments, func(m Moment) bool {
		return m.Name == Average ||
			len(m.Values) != len(cp.Theta)
	}) {
		man.Format = latestFormat
	}
	if !math.IsInf(cp.BestLoss, 0) {
		man.BestLoss = &cp.BestLoss
	}
	return man
}

// readManifest reads and checks a manifest. All errors have its name. The data file is not looked at.
func readManifest(path string) (*manifest, error) {
	text, err := disk.ReadFile(path, maxManifest)
	if err != nil {
		return nil, fmt.Errorf("read checkpoint: %w", err)
	}
	man := new(manifest)
	if err = json.Unmarshal(text, man); err == nil {
		err = man.check()
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: manifest: %w", path, err)
	}
	return man, nil
}

// check returns why a manifest cannot be one. All numbers that decide how much is allocated are bounded here, and
// the data file can only be the one beside it that belongs to the step.
func (man *manifest) check() error {
	switch {
	case man.Format < 1 || man.Format > latestFormat:
		return fmt.Errorf("format %d, this program reads 1 to %d", man.Format, latestFormat)
	case man.Parameters <= 0 || man.Parameters > MaxParameters:
		return fmt.Errorf("%d parameters", man.Parameters)
	case len(man.Moments) > maxMoments:
		return fmt.Errorf("%d moments", len(man.Moments))
	case man.Blocks < 0 || man.Blocks > man.Parameters:
		return fmt.Errorf("%d blocks of gradients for %d parameters", man.Blocks, man.Parameters)
	case man.Bytes < 0 || man.Bytes > man.most():
		return fmt.Errorf("%d bytes for %d parameters", man.Bytes, man.Parameters)
	case man.File != stem(man.Step)+dataSuffix:
		return fmt.Errorf("file %q for step %d", man.File, man.Step)
	}
	return nil
}

// most is the largest number of bytes that the data of a checkpoint may have.
func (man *manifest) most() int64 {
	const header = 64 << 20 // names and shapes
	return header + 4*(int64(1+len(man.moments()))*int64(man.Parameters)+int64(man.Blocks))
}

// moments are the names of the vectors behind the parameters, in order; before they were written, they were those of
// Adam.
func (man *manifest) moments() []string {
	if man.Format <= adamFormat {
		return adamMoments()
	}
	return man.Moments
}

// checkpoint is the checkpoint that the manifest describes, without vectors.
func (man *manifest) checkpoint(path string) *Checkpoint {
	cp := &Checkpoint{
		Run: man.Run, Seed: man.Seed, Term: man.Term, Step: man.Step,
		Validated: man.Validated, BestStep: man.BestStep, BestLoss: math.Inf(1), LeftOut: man.LeftOut,
		ParamsSHA256: man.ParamsSHA256, Path: path, Identity: man.Identity, Data: man.Data,
	}
	if man.BestLoss != nil {
		cp.BestLoss = *man.BestLoss
	}
	return cp
}

// open reads and verifies the data file. No more than Bytes is read of it.
func (man *manifest) open(dir string) (*File, error) {
	all, err := disk.ReadFile(filepath.Join(dir, man.File), man.Bytes)
	if err != nil {
		return nil, err
	}
	if int64(len(all)) != man.Bytes {
		return nil, fmt.Errorf("%s has %d bytes, the manifest says %d", man.File, len(all), man.Bytes)
	}
	sum := sha256.Sum256(all)
	if got := hex.EncodeToString(sum[:]); got != man.SHA256 {
		return nil, fmt.Errorf("%s has SHA-256 %s, the manifest says %s", man.File, got, man.SHA256)
	}
	f, err := Decode(all)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", man.File, err)
	}
	return f, nil
}

// fill reads the vectors of a checkpoint: first the parameters, then the moments and the levels. The names and
// shapes of the parameters become its layout. It allocates memory only for vectors that the file contains.
func (man *manifest) fill(cp *Checkpoint, f *File) error {
	moments := man.moments()
	// The parameters are all tensors before the moments.
	named := len(f.Tensors) - len(moments)
	if man.Blocks > 0 {
		named--
	}
	size := 0
	for _, t := range f.Tensors[:max(named, 0)] {
		cp.Layout = append(cp.Layout, Tensor{Name: t.Name, Shape: t.Shape, Offset: size, Size: t.Count()})
		size += t.Count()
	}
	if size != man.Parameters {
		return fmt.Errorf("%s has %d parameters, the manifest says %d", man.File, size, man.Parameters)
	}
	cp.Theta = make([]float32, size)
	for i, t := range cp.Layout {
		if err := Copy(cp.Theta[t.Offset:t.Offset+t.Size], f.Tensors[i]); err != nil {
			return fmt.Errorf("%s: %w", man.File, err)
		}
	}
	for _, name := range moments {
		x, err := vector(f, name, size, 1, 2) // a number of an optimiser, or two
		if err != nil {
			return fmt.Errorf("%s: %w", man.File, err)
		}
		cp.Moments = append(cp.Moments, Moment{name, x})
	}
	if man.Blocks > 0 {
		x, err := vector(f, levelsName, man.Blocks)
		if err != nil {
			return fmt.Errorf("%s: %w", man.File, err)
		}
		cp.Levels = x
	}
	return nil
}

// vector reads a tensor that has one of these numbers of elements.
func vector(f *File, name string, sizes ...int) ([]float32, error) {
	t, err := f.Tensor(name)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(sizes, t.Count()) {
		return nil, fmt.Errorf("tensor %q has %d elements, want %d", name, t.Count(), sizes[0])
	}
	return Values[float32](t)
}

// stem is the name of a checkpoint's files without suffix. The order of names is the order of steps.
func stem(step uint64) string { return fmt.Sprintf("step-%010d", step) }

// stepOf returns the step of a file that Store.Write made, complete or not. It returns false for all other files,
// among them best.json.
func stepOf(name string) (uint64, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(name, disk.Suffix), "step-")
	if !ok {
		return 0, false
	}
	digits, suffix, _ := strings.Cut(rest, ".")
	step, err := strconv.ParseUint(digits, 10, 64)
	return step, err == nil && ("."+suffix == manifestSuffix || "."+suffix == dataSuffix)
}
