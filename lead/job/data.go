package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/store"
)

// Data is the data set of a run on a user's files, in the form that training uses. The nil Data belongs to a run
// with simulated data; Is, Has, Dataset and Bytes may be called on it.
//
// There are two ways to it. LoadData reads the user's files, on the machine that has them; StoredData takes the
// encoded data set that such a machine has submitted. Both give the same hash, so workers and hosts that have one
// set recognise it. A Data is not changed after that.
type Data struct {
	Encoded []byte   // what workers in other processes fetch
	Short   int      // number of training episodes that are shorter than a window
	Values  int      // observed values of the training episodes
	Files   string   // its paths, in the form of env.files
	Guessed []string // keys that say how the files are read and that nobody had set, as key=value

	hash    string              // of the content
	set     *files.Dataset      // scaled
	scale   files.Normalisation // from the units of the files to those of training
	divided *bool               // see normalisation
}

// ErrDataChanged is returned when the files of a run are not the files that the run began with.
var ErrDataChanged error = &files.Error{Problem: "the data are not those that the run began with"}

// LoadData reads and scales the files of a configuration. It fills in the keys that the files decide: dimensions,
// number and length of the episodes, the window unless it is set, and the hash of the content. It returns nil for a
// simulated environment. stored is the scaling of a run that continues; nil for a new run. c gets settings of its
// own, so those of the caller's other copies stay as they are. Mistakes of the user are usage errors, often with a
// hint; files that cannot be understood give a *files.Error; and files that are not those of the run,
// ErrDataChanged.
func LoadData(c *config.Config, stored []byte) (*Data, error) {
	if own(*c) == nil {
		return nil, nil
	}
	*c = c.Clone() // a copy: the caller's settings stay unchanged
	// Before anything is read, which may take minutes, and again with what the files have filled in.
	if _, err := absolutePaths(own(*c)); err != nil {
		return nil, err
	}
	if err := Fits(*c, 0); err != nil {
		return nil, err
	}
	set, guessed, err := readOwn(own(*c), "")
	if err != nil {
		return nil, err
	}
	// The scaling is measured on the training part alone, before anything is scaled.
	split, err := divide(*c, set)
	if err != nil {
		return nil, err
	}
	d := &Data{Files: own(*c).Files, Guessed: guessed}
	if d.scale, err = scaling(*c, set, split, stored); err != nil {
		return nil, err
	}
	d.scale.Describe(set)
	d.set = d.scale.Apply(set)
	d.divided = divided(set)
	if d.Encoded, err = d.set.Bytes(); err != nil {
		return nil, fmt.Errorf("encode the data set: %w", err)
	}
	hash, err := d.set.Hash()
	if err != nil {
		return nil, fmt.Errorf("hash the data set: %w", err)
	}
	if stored != nil && hash != own(*c).Hash {
		return nil, config.Hint(fmt.Errorf("%w: %s", ErrDataChanged, own(*c).Files),
			"put the old files back, or begin a new run")
	}
	d.hash, own(*c).Hash = hash, hash
	d.Values = set.Observed(split.Training...)
	if d.Short, err = describe(c, set, split); err != nil {
		return nil, err
	}
	return d, Fits(*c, 0)
}

// readOwn reads the files of a run, with those parts divided that a split by time gives, and makes env.files absolute.
// truth names the column of true modes, if it is not z. What a run that has not begun leaves open is guessed, as data
// info does it, and said by keys.
func readOwn(s *files.Settings, truth string) (set *files.Dataset, guessed []string, err error) {
	paths, err := absolutePaths(s)
	if err != nil {
		return nil, nil, err
	}
	how, err := s.Options()
	if err != nil {
		return nil, nil, err
	}
	how.Truth = truth
	if s.Hash == "" {
		set, how, err = files.ReadGuessed(paths, how)
		guessed = s.Complete(how)
	} else {
		set, err = files.Read(paths, how)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, config.Hint(config.Usagef("read env.files: %w", err), "quote a glob, and see what is there: "+
			"switchyard data info")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read env.files: %w", err)
	}
	if set, err = s.Divided(set); err != nil {
		return nil, nil, fmt.Errorf("split env.files: %w", err)
	}
	return set, guessed, nil
}

// absolutePaths splits env.files and makes the paths absolute, so that they do not depend on the folder of the
// command. Patterns stay patterns. A path that has a comma itself is a usage error.
func absolutePaths(s *files.Settings) ([]string, error) {
	if s.Files == "" {
		return nil, config.Hint(config.Usagef("env.kind=files needs env.files"), "e.g. env.files='data/*.npz'")
	}
	paths := strings.Split(s.Files, ",")
	if err := nameable(Torn(paths)); err != nil {
		return nil, err
	}
	for i, p := range paths {
		absolute, err := filepath.Abs(strings.TrimSpace(p))
		if err != nil {
			return nil, fmt.Errorf("find env.files: %w", err)
		}
		paths[i] = absolute
	}
	var err error
	s.Files, err = Listed(paths) // the folder of the command may have a comma
	return paths, err
}

// divide splits the episodes into parts for training, validation and test, as a function of the seed of the run
// unless the files say which is which.
func divide(c config.Config, set *files.Dataset) (files.Split, error) {
	split, err := set.Split(c.Seed, files.Fractions{Validation: own(c).Validation, Test: own(c).Test})
	if err != nil {
		return split, fmt.Errorf("split the episodes of env.files: %w", err)
	}
	return split, nil
}

// scaling returns the stored scaling of a run that continues, the scaling of a file, or one that is measured on the
// training episodes. "none" is the zero scaling, in which data keep their units.
func scaling(c config.Config, set *files.Dataset, split files.Split, stored []byte) (files.Normalisation, error) {
	switch {
	case stored != nil:
		return parsed(set, store.NormalisationFile, stored)
	case own(c).Normalise == "auto":
		return set.Measure(split.Training), nil
	case own(c).Normalise == files.EachRecording:
		return set.MeasureEach(split.Training)
	case own(c).Normalise == "none":
		return files.Normalisation{}, nil
	}
	data, err := os.ReadFile(own(c).Normalise)
	if err != nil {
		return files.Normalisation{}, config.Hint(config.Usagef("env.normalise: %w", err),
			"must be auto, recording, none or a JSON file")
	}
	return parsed(set, own(c).Normalise, data)
}

// parsed is the scaling of a file, for all recordings of a data set.
func parsed(set *files.Dataset, name string, data []byte) (files.Normalisation, error) {
	n, err := set.ParseNormalisation(name, data)
	if err == nil {
		err = n.Covers(set)
	}
	return n, err
}

// describe fills in the keys that the data decide: channels, controls, number and greatest length of the training
// episodes, and the window unless it is set. It returns how many training episodes are too short for a window, which
// are not used. A window that no training or no validation episode fills is a usage error.
func describe(c *config.Config, set *files.Dataset, split files.Split) (short int, err error) {
	shortest, longest := set.Episodes[split.Training[0]].T, 0
	for _, i := range split.Training {
		shortest, longest = min(shortest, set.Episodes[i].T), max(longest, set.Episodes[i].T)
	}
	own(*c).Observations, own(*c).Controls = set.Spec.Observation, set.Spec.Control
	c.Env.Episodes, c.Env.Length = len(split.Training), longest
	if Sweeping(*c) { // over whole episodes, of any length
		if err := c.Check(); err != nil {
			return 0, config.Usage(err)
		}
		return 0, nil
	}
	if c.Env.Window == 0 {
		if shortest != longest {
			return 0, config.Hint(config.Usagef("env.window=0 takes whole episodes, and they have %d to %d steps", shortest,
				longest), "e.g. env.window=%d", shortest)
		}
		c.Env.Window = longest
	}
	if c.Env.Window > longest {
		return 0, config.Hint(config.Usagef("env.window=%d is longer than the longest training episode", c.Env.Window),
			"e.g. env.window=%d", longest)
	}
	held := 0
	for _, i := range split.Validation {
		held = max(held, set.Episodes[i].T)
	}
	if len(split.Validation) == 0 {
		return 0, config.Hint(config.Usagef("no episode is left for validation"), "e.g. env.validation=0.1")
	}
	if c.Env.Window > held {
		return 0, config.Hint(config.Usagef("env.window=%d is longer than the longest validation episode (%s)",
			c.Env.Window, terminal.Count(held, "step")),
			"e.g. env.window=%d, or another env.validation", held)
	}
	if err := c.Check(); err != nil {
		return 0, config.Usage(err)
	}
	for _, i := range split.Training {
		if set.Episodes[i].T < c.Env.Window {
			short++
		}
	}
	return short, nil
}

// Is reports whether these are the data of a configuration. They are if they have the hash that the configuration
// names.
func (d *Data) Is(c config.Config) bool { return own(c) != nil && d.Has(own(c).Hash) }

// Has reports whether the data have this hash.
func (d *Data) Has(hash string) bool { return d != nil && d.hash == hash }

// Dataset is the scaled data; nil if data are simulated. It is shared and must not be changed.
func (d *Data) Dataset() *files.Dataset {
	if d == nil {
		return nil
	}
	return d.set
}

// Bytes is what workers in other processes fetch; nil if data are simulated. They must not be changed.
func (d *Data) Bytes() []byte {
	if d == nil {
		return nil
	}
	return d.Encoded
}

// Normalisation is the scaling of the data as JSON, in the form that StoredData reads.
func (d *Data) Normalisation() ([]byte, error) {
	text, err := json.Marshal(normalisation{d.scale, d.divided})
	if err != nil {
		return nil, fmt.Errorf("encode the normalisation: %w", err)
	}
	return text, nil
}

// kept is the scaling as the folder of a run has it; nil for simulated data.
func (d *Data) kept() ([]byte, error) {
	if d == nil {
		return nil, nil
	}
	text, err := json.MarshalIndent(normalisation{d.scale, d.divided}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the normalisation: %w", err)
	}
	return append(text, '\n'), nil
}

// StoredScale reads the scaling from the folder of a run on own data; nil for other runs. It returns
// store.ErrDamaged if the file cannot be read.
func StoredScale(c config.Config, folder string) ([]byte, error) {
	if own(c) == nil {
		return nil, nil
	}
	data, err := store.ReadFile(filepath.Join(folder, store.NormalisationFile))
	if err != nil {
		return nil, fmt.Errorf("%w: read its normalisation: %w", store.ErrDamaged, err)
	}
	return data, nil
}
