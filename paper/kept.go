package paper

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
)

// Runs are large and slow to train; their numbers are small. Kept numbers let a report be written, and a study go on,
// where the runs themselves are gone. They count as long as the same program would compute the same bits again.

// Kept are the numbers of a trained and measured trial, in a file of their own, that count in place of its run when
// that is gone. They count for one configuration and one arithmetic, whose bits they would be again.
type Kept struct {
	Run        string              `json:"run"`
	Config     string              `json:"config"`     // YAML, all keys
	Arithmetic string              `json:"arithmetic"` // see arithmetic
	Version    string              `json:"switchyard"` // of the program that measured; for people
	Updates    uint64              `json:"updates"`
	Parameters string              `json:"params_sha256"`
	Episodes   int                 `json:"test_episodes"` // asked for; 0: as many as each protocol is made for
	Protocols  map[string]Findings `json:"protocols"`
}

// Findings are the numbers that a protocol found.
type Findings struct {
	Numbers eval.Numbers `json:"numbers"`
	Curves  Curves       `json:"curves"`
}

// readFindings reads what a protocol found for the run of a folder; empty if it was not measured.
func readFindings(folder, protocol string) (f Findings, err error) {
	if f.Numbers, err = ReadNumbers(folder, protocol); err == nil {
		f.Curves, err = ReadCurves(folder, protocol)
	}
	return f, err
}

// whole reports whether there are numbers of every protocol of a trial. A nil Kept has none.
func (k *Kept) whole(t Trial) bool {
	return k != nil &&
		!slices.ContainsFunc(t.Protocols, func(name string) bool { return k.Protocols[name].Numbers == nil })
}

// arithmetic is a hash of the bits that this build computes for a trial: those of every kernel, and those of the
// gradient of its first shard. It prepares the run, which simulates or reads its data. An error is that of the
// preparation.
func arithmetic(t Trial) (string, error) {
	p, err := job.Prepare(t.Config, nil, 1)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, n := range job.Numerics() {
		fmt.Fprintln(h, n.Kernel, n.Sum) // a hash takes everything
	}
	fmt.Fprintln(h, p.Golden)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// keptPath is the file with the numbers of a trial.
func (s *Study) keptPath(t Trial) string { return filepath.Join(s.KeepDir, t.Name+".json") }

// ReadKept returns the numbers that were kept of a trial; nil if there are none, or if they are of another
// configuration, another arithmetic or another test. The errors are those of reading, and store.ErrDamaged.
func (s *Study) ReadKept(t Trial) (*Kept, error) {
	k, err := s.readKept(t)
	if err != nil || k == nil || s.differs(k, t) != "" {
		return nil, err
	}
	for name, f := range k.Protocols {
		k.Protocols[name] = Findings{upgraded(f.Numbers), f.Curves}
	}
	now, err := arithmetic(t)
	if err != nil || now != k.Arithmetic {
		return nil, err
	}
	return k, nil
}

// readKept reads the file of a trial, whatever it is of; nil if there is none.
func (s *Study) readKept(t Trial) (*Kept, error) {
	if s.KeepDir == "" {
		return nil, nil
	}
	path := s.keptPath(t)
	data, err := store.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the kept numbers: %w", err)
	}
	var k Kept
	if err := json.Unmarshal(data, &k); err != nil {
		return nil, fmt.Errorf("%s: %w: %w; remove it to train and measure again", path, store.ErrDamaged, err)
	}
	return &k, nil
}

// differs says in which settings kept numbers are not those of a trial, or that their test was another one; empty if
// neither.
func (s *Study) differs(k *Kept, t Trial) string {
	c, err := s.Kinds.Parse(s.keptPath(t), []byte(k.Config))
	switch {
	case err != nil:
		return "its configuration is of a release with other settings"
	case !c.Equal(t.Config):
		return strings.Join(job.Differences(c, t.Config), ", ")
	case k.Episodes != s.Episodes:
		return fmt.Sprintf("tests of %s, not of %s", episodes(k.Episodes), episodes(s.Episodes))
	}
	return ""
}

// episodes says how many a test was asked for.
func episodes(n int) string {
	if n == 0 {
		return "the usual number of episodes"
	}
	return terminal.Count(n, "episode")
}

// checkKept returns ErrDiffers for kept numbers that a trial would replace with those of another configuration or test.
func (s *Study) checkKept(t Trial) error {
	k, err := s.readKept(t)
	if err != nil || k == nil {
		return err
	}
	if text := s.differs(k, t); text != "" {
		return config.Hint(fmt.Errorf("%s: %w: %s", s.keptPath(t), ErrDiffers, text),
			"choose another folder, or remove the file to train and measure %s anew", t.Name)
	}
	return nil
}

// keep writes the numbers of a trial whose run is trained and measured. Those of protocols that are not asked for this
// time stay. A run that is not finished keeps nothing. The file is replaced as a whole.
func (s *Study) keep(t Trial) error {
	if s.KeepDir == "" {
		return nil
	}
	info, err := s.state(t)
	if err != nil || info.State != store.Finished {
		return err
	}
	// All keys are kept: ReadKept compares the whole configuration.
	k := &Kept{
		Run: t.Name, Config: string(t.Config.YAML()), Version: job.Version(), Updates: info.Step,
		Parameters: info.ParametersSHA256,
		Episodes:   s.Episodes, Protocols: map[string]Findings{},
	}
	if k.Arithmetic, err = arithmetic(t); err != nil {
		return err
	}
	// The same parameters give the same numbers: those of protocols that are not measured now still hold.
	if before, err := s.ReadKept(t); err != nil {
		return err
	} else if before != nil && before.Parameters == k.Parameters {
		k.Protocols = before.Protocols
	}
	for _, name := range t.Protocols {
		if k.Protocols[name], err = readFindings(filepath.Join(s.RunsDir, t.Name), name); err != nil {
			return err
		}
	}
	data, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("keep the numbers of %s: %w", t.Name, err)
	}
	if err := os.MkdirAll(s.KeepDir, 0o755); err != nil {
		return fmt.Errorf("keep the numbers of %s: %w", t.Name, err)
	}
	return store.WriteFile(s.keptPath(t), append(data, '\n'))
}

// MarshalJSON writes null for what is not finite.
func (c Curves) MarshalJSON() ([]byte, error) {
	out := map[string][]eval.Number{}
	for name, column := range c {
		out[name] = eval.NumberList(column)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads null as NaN.
func (c *Curves) UnmarshalJSON(data []byte) error {
	var in map[string][]eval.Number
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*c = Curves{}
	for name, column := range in {
		(*c)[name] = eval.Floats(column)
	}
	return nil
}

// upgraded gives the numbers that an older release kept their present names: it wrote NAME.KEY, and counted the places
// of a list from 0. A name with a slash is one of the present form.
func upgraded(n eval.Numbers) eval.Numbers {
	if n == nil {
		return nil
	}
	now := eval.Numbers{}
	for name, v := range n {
		metric, key, several := strings.Cut(name, ".")
		if !several || strings.Contains(name, "/") {
			now[name] = v
			continue
		}
		// A metric with the key 0 was a list, whose places now count from 1.
		if _, list := n[metric+".0"]; list {
			if place, err := strconv.Atoi(key); err == nil {
				key = strconv.Itoa(place + 1)
			}
		}
		now[eval.Name(metric, key)] = v
	}
	return now
}
