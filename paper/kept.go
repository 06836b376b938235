package paper

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

	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
)

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
	Numbers Numbers `json:"numbers"`
	Curves  Curves  `json:"curves"`
}

// whole reports whether there are numbers of every protocol of a trial.
func (k *Kept) whole(t Trial) bool {
	return k != nil &&
		!slices.ContainsFunc(t.Protocols, func(name string) bool { return k.Protocols[name].Numbers == nil })
}

// arithmetic is a hash of the bits that this build computes for a trial: those of every kernel, and those of the
// gradient of its first shard.
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
// configuration, another arithmetic or another test.
func (s *Study) ReadKept(t Trial) (*Kept, error) {
	if s.KeepDir == "" {
		return nil, nil
	}
	path := s.keptPath(t)
	data, err := os.ReadFile(path)
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
	c, err := s.Kinds.Parse(path, []byte(k.Config))
	if err != nil || !c.Equal(t.Config) || k.Episodes != s.Episodes {
		return nil, nil // a configuration of a version that had other keys is another one
	}
	now, err := arithmetic(t)
	if err != nil || now != k.Arithmetic {
		return nil, err
	}
	return &k, nil
}

// keep writes the numbers of a trial whose run is trained and measured. Those of protocols that are not asked for this
// time stay.
func (s *Study) keep(t Trial) error {
	if s.KeepDir == "" {
		return nil
	}
	info, err := s.state(t)
	if err != nil || info.State != store.Finished {
		return err
	}
	k := &Kept{
		Run: t.Name, Config: string(t.Config.YAML()), Version: s.Version, Updates: info.Step,
		Parameters: info.ParametersSHA256,
		Episodes:   s.Episodes, Protocols: map[string]Findings{},
	}
	if k.Arithmetic, err = arithmetic(t); err != nil {
		return err
	}
	if before, err := s.ReadKept(t); err != nil {
		return err
	} else if before != nil && before.Parameters == k.Parameters {
		k.Protocols = before.Protocols
	}
	for _, name := range t.Protocols {
		var f Findings
		folder := filepath.Join(s.RunsDir, t.Name)
		if f.Numbers, err = ReadNumbers(folder, name); err != nil {
			return err
		}
		if f.Curves, err = ReadCurves(folder, name); err != nil {
			return err
		}
		k.Protocols[name] = f
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

// finite is a number, or nil for one that JSON does not have.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// number is the value that was written by finite.
func number(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// MarshalJSON writes null for what is not finite.
func (n Numbers) MarshalJSON() ([]byte, error) {
	if n == nil {
		return []byte("null"), nil
	}
	out := map[string]*float64{}
	for name, v := range n {
		out[name] = finite(v)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads null as NaN.
func (n *Numbers) UnmarshalJSON(data []byte) error {
	var in map[string]*float64
	if err := json.Unmarshal(data, &in); err != nil || in == nil {
		return err
	}
	*n = Numbers{}
	for name, v := range in {
		(*n)[name] = number(v)
	}
	return nil
}

// MarshalJSON writes null for what is not finite.
func (c Curves) MarshalJSON() ([]byte, error) {
	out := map[string][]*float64{}
	for name, column := range c {
		for _, v := range column {
			out[name] = append(out[name], finite(v))
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads null as NaN.
func (c *Curves) UnmarshalJSON(data []byte) error {
	var in map[string][]*float64
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*c = Curves{}
	for name, column := range in {
		for _, v := range column {
			(*c)[name] = append((*c)[name], number(v))
		}
	}
	return nil
}
