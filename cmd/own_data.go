package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/advice"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/runs"
	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// ownData is the data set of a run on a user's files, as training sees it.
type ownData struct {
	set     *files.Dataset      // scaled
	encoded []byte              // what workers elsewhere fetch
	scale   files.Normalisation // from the units of the files
	short   int                 // training episodes without a whole window
}

// normalisationFile is where a run keeps the scaling of its data.
const normalisationFile = "normalisation.json"

// errDataChanged is the error of a run whose files are not those that it began with.
var errDataChanged = errors.New("the data are not those that the run began with")

// loadOwnData reads and scales the files of a configuration and fills in what they decide: dimensions,
// number and length of the episodes, the window if none is given, and the content hash. It returns nil
// for an environment that is simulated. stored is the scaling of a run that goes on; nil for a new one.
func loadOwnData(c *config.Config, stored []byte) (*ownData, error) {
	if c.Env.Kind != "files" {
		return nil, nil
	}
	paths, err := ownPaths(c)
	if err != nil {
		return nil, err
	}
	set, err := files.Read(paths, files.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, advice.Hint(advice.Usagef("read env.files: %w", err), "quote a glob, and see what is there: switchyard data info")
	}
	if err != nil {
		return nil, fmt.Errorf("read env.files: %w", err)
	}
	split, err := ownSplit(*c, set)
	if err != nil {
		return nil, err
	}
	d := new(ownData)
	if d.scale, err = ownScale(*c, set, split, stored); err != nil {
		return nil, err
	}
	d.set = d.scale.Apply(set)
	if d.encoded, err = d.set.Bytes(); err != nil {
		return nil, fmt.Errorf("encode the data set: %w", err)
	}
	hash, err := d.set.Hash()
	if err != nil {
		return nil, fmt.Errorf("hash the data set: %w", err)
	}
	if stored != nil && hash != c.Env.Hash {
		return nil, advice.Hint(fmt.Errorf("%w: %w: %s", files.ErrData, errDataChanged, c.Env.Files), "put the old files back, or begin a new run")
	}
	c.Env.Hash = hash
	d.short, err = describe(c, set, split)
	return d, err
}

// ownPaths splits env.files and makes its paths independent of the folder that the command runs in.
func ownPaths(c *config.Config) ([]string, error) {
	if c.Env.Files == "" {
		return nil, advice.Hint(advice.Usagef("env.kind=files needs env.files"), "e.g. env.files='data/*.npz'")
	}
	paths := strings.Split(c.Env.Files, ",")
	for i, p := range paths {
		absolute, err := filepath.Abs(strings.TrimSpace(p))
		if err != nil {
			return nil, fmt.Errorf("find env.files: %w", err)
		}
		paths[i] = absolute
	}
	c.Env.Files = strings.Join(paths, ",")
	return paths, nil
}

func ownSplit(c config.Config, set *files.Dataset) (files.Split, error) {
	split, err := set.Split(c.Seed, files.Fractions{Validation: c.Env.Validation, Test: c.Env.Test})
	if err != nil {
		return split, fmt.Errorf("split the episodes of env.files: %w", err)
	}
	return split, nil
}

// ownScale is the scaling of a run that goes on, of a file, or measured on the training episodes.
func ownScale(c config.Config, set *files.Dataset, split files.Split, stored []byte) (files.Normalisation, error) {
	switch {
	case stored != nil:
		return set.ParseNormalisation(normalisationFile, stored)
	case c.Env.Normalise == "auto":
		return set.Measure(split.Training), nil
	case c.Env.Normalise == "none":
		return files.Normalisation{}, nil
	}
	data, err := os.ReadFile(c.Env.Normalise)
	if err != nil {
		return files.Normalisation{}, advice.Hint(advice.Usagef("env.normalise: %w", err), "it takes auto, none or a JSON file")
	}
	return set.ParseNormalisation(c.Env.Normalise, data)
}

// describe fills in the keys that the data decide, and returns how many training episodes are too short
// for a window.
func describe(c *config.Config, set *files.Dataset, split files.Split) (short int, err error) {
	shortest, longest := set.Episodes[split.Training[0]].T, 0
	for _, i := range split.Training {
		shortest, longest = min(shortest, set.Episodes[i].T), max(longest, set.Episodes[i].T)
	}
	c.Env.Observations, c.Env.Controls = set.Spec.Observation, set.Spec.Control
	c.Env.Episodes, c.Env.Length = len(split.Training), longest
	if c.Env.Window == 0 {
		if shortest != longest {
			return 0, advice.Hint(advice.Usagef("env.window=0 takes whole episodes, and they have %d to %d steps", shortest, longest), "e.g. env.window=%d", shortest)
		}
		c.Env.Window = longest
	}
	if c.Env.Window > longest {
		return 0, advice.Hint(advice.Usagef("env.window=%d is longer than the longest training episode", c.Env.Window), "e.g. env.window=%d", longest)
	}
	held := 0
	for _, i := range split.Validation {
		held = max(held, set.Episodes[i].T)
	}
	if c.Env.Window > held {
		return 0, advice.Hint(advice.Usagef("env.window=%d is longer than all of %s", c.Env.Window, terminal.Count(len(split.Validation), "validation episode")),
			"e.g. env.window=%d, or another env.validation", held)
	}
	if k := c.Model.InitialObservations; k >= c.Env.Window {
		return 0, advice.Usagef("model.initial_observations=%d leaves nothing to infer in windows of %d steps", k, c.Env.Window)
	}
	for _, i := range split.Training {
		if set.Episodes[i].T < c.Env.Window {
			short++
		}
	}
	return short, nil
}

// dataset is the scaled data; nil where data are simulated.
func (d *ownData) dataset() *files.Dataset {
	if d == nil {
		return nil
	}
	return d.set
}

// bytes is what workers elsewhere fetch; nil where data are simulated.
func (d *ownData) bytes() []byte {
	if d == nil {
		return nil
	}
	return d.encoded
}

// keep writes the scaling into the run folder.
func (d *ownData) keep(run *runs.Run) error {
	if d == nil {
		return nil
	}
	text, err := json.MarshalIndent(d.scale, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the normalisation: %w", err)
	}
	return runs.WriteFile(run.Path(normalisationFile), append(text, '\n'))
}

// storedScale reads the scaling of a run on own data; nil for any other run.
func storedScale(c config.Config, run *runs.Run) ([]byte, error) {
	return scaleIn(c, run.Folder())
}

// scaleIn is storedScale for the folder of a run.
func scaleIn(c config.Config, folder string) ([]byte, error) {
	if c.Env.Kind != "files" {
		return nil, nil
	}
	data, err := os.ReadFile(filepath.Join(folder, normalisationFile))
	if err != nil {
		return nil, fmt.Errorf("%w: read its normalisation: %w", runs.ErrDamaged, err)
	}
	return data, nil
}
