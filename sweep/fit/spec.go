package fit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/sweep/trials"
)

// metric is what candidates are chosen by: the mean absolute scaled error of predictions of the validation part.
const metric = "eval/validation/mase_mean"

// metricPrefix is how many steps were seen before each.
const metricPrefix = "eval/validation/prefix"

// spec is the sweep of the plan, as a file: settings of all candidates as parameters, candidates as configurations
// of method list in the order of the plan, and further seeds for the best one. All runs keep their checkpoints: Finish
// compares candidates by them, also when the fit is called again. It is a function of the plan.
func (p *Plan) spec() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Made by switchyard fit: the same command continues it.\n"+
		"preset: files\nmethod: list\nmetric: {name: %s, goal: minimize}\nconfirm: {top: 1, seeds: %d}\nkeep: all\n"+
		"parameters:\n",
		metric, further)
	for _, s := range append(slices.Clone(p.common), "model.kind=naive", fmt.Sprintf("seed=%d", p.Request.Seed)) {
		key, value, _ := strings.Cut(s, "=")
		fmt.Fprintf(&b, "  %s: %s\n", key, strconv.Quote(value))
	}
	b.WriteString("configurations:\n")
	for _, c := range p.Candidates {
		pairs := make([]string, len(c.Settings))
		for i, s := range c.Settings {
			key, value, _ := strings.Cut(s, "=")
			pairs[i] = key + ": " + strconv.Quote(value)
		}
		fmt.Fprintf(&b, "  - {%s}\n", strings.Join(pairs, ", "))
	}
	return []byte(b.String())
}

// recordFile, in the folders of the sweep and of the run, has what was asked for and what was planned.
const recordFile = "fit.json"

// record is what a fit is continued by: what was asked for, the hash of the data, and the plan.
type record struct {
	Paths    []string      `json:"paths"` // absolute
	Hash     string        `json:"sha256"`
	Read     files.Options `json:"read"`
	Settings []string      `json:"settings,omitempty"`
	Families []string      `json:"families,omitempty"`
	Budget   time.Duration `json:"budget"`
	Seed     uint64        `json:"seed"`
	Workers  int           `json:"workers"` // that the budget counted for
	Plan     *Plan         `json:"plan"`
}

// same reports whether two fits were asked for the same: the number of workers, which changes the plan of a fit that
// begins, does not count for one that goes on.
func (rec record) same(o record) bool {
	rec.Workers, o.Workers, rec.Plan, o.Plan = 0, 0, nil, nil
	a, err := json.Marshal(rec)
	b, other := json.Marshal(o)
	return err == nil && other == nil && string(a) == string(b)
}

// record is that of the request, whose files hold the data set, without its plan. It fails if a path cannot be
// made absolute or the data cannot be hashed.
func (r *Request) record(set *files.Dataset) (record, error) {
	rec := record{
		Read: r.Read, Settings: r.Settings, Families: r.Families, Budget: r.Budget, Seed: r.Seed, Workers: r.Workers,
	}
	for _, p := range r.Paths {
		absolute, err := filepath.Abs(p)
		if err != nil {
			return rec, fmt.Errorf("find the files: %w", err)
		}
		rec.Paths = append(rec.Paths, absolute)
	}
	var err error
	rec.Hash, err = set.Hash()
	return rec, err
}

// begun reads the record of a fit in the folder of its sweep, or of the run that it has kept; found is false if there
// is none. It returns store.ErrDamaged for a record that cannot be read.
func begun(dir string) (rec record, found bool, err error) {
	text, err := store.ReadFile(filepath.Join(dir, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return rec, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &rec)
	}
	if err != nil {
		return rec, false, fmt.Errorf("%w: read the plan of the fit %s: %w", store.ErrDamaged, dir, err)
	}
	return rec, true, nil
}

// keep writes the record into the folder of the sweep, which it makes if there is none.
func (rec record) keep(f trials.Folder) error {
	if err := disk.MakeFolder(disk.System(), f.Path()); err != nil {
		return fmt.Errorf("make the folder of the fit: %w", err)
	}
	text, err := rec.encode()
	if err != nil {
		return err
	}
	return store.WriteFile(f.Path(recordFile), text)
}

// encode is the record as indented JSON that ends with a new line.
func (rec record) encode() ([]byte, error) {
	text, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the plan of the fit: %w", err)
	}
	return append(text, '\n'), nil
}

// errOther is the error for a name under which something else was fitted.
func errOther(f trials.Folder) error {
	return config.Hint(config.Usagef("%s is a fit of other data, with other options or another budget", f.Path()),
		"choose another --name, or remove the folder")
}
