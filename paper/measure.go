package paper

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/trained"
)

// measure measures a trained run by a protocol, unless that was done. What was found lies in the folder of the
// run, so that a study that was stopped goes on. The parameters are those of the best checkpoint.
func (s *Study) measure(t Trial, name string) error {
	folder := filepath.Join(s.RunsDir, t.Name)
	q := eval.Question{Protocol: name, Threads: s.Threads}
	p, err := trained.Choose(t.Config, q)
	if err != nil {
		return err
	}
	if p.Episodes > 0 {
		q.Episodes = s.Episodes
	}
	r, err := trained.Of(t.Config, folder, trained.Best)
	if err != nil {
		return err
	}
	done, err := ReadNumbers(folder, name)
	if err != nil || answers(done, r.Step(), cmp.Or(q.Episodes, p.Episodes)) {
		return err
	}
	_, err = r.Evaluate(q)
	return err
}

// answers reports whether numbers are of the parameters after a step, and of a test of so many episodes; 0: the
// protocol has its own. Someone may have measured the run by other ones since, which took the place of those.
func answers(n eval.Numbers, step uint64, episodes int) bool {
	return n != nil && n.Get("step") == float64(step) && (episodes == 0 || n.Get("episodes") == float64(episodes))
}

// ReadNumbers reads what a protocol found for the run of a folder; nil if it was not measured. store.ErrDamaged is
// returned for a file that does not parse.
func ReadNumbers(folder, protocol string) (eval.Numbers, error) {
	path := filepath.Join(folder, "tables", protocol+".json")
	data, err := store.ReadFile(path)
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

// measuredBy are the protocols by which the run of a folder was measured, in order.
func measuredBy(folder string) []string {
	list, _ := fs.Glob(os.DirFS(folder), "tables/*.json") // the pattern is valid
	for i, file := range list {
		list[i] = strings.TrimSuffix(path.Base(file), ".json")
	}
	return list
}

// Curves are the columns of the CSV file of a protocol, by heading.
type Curves map[string][]float64

// ReadCurves reads the curves that a protocol found for the run of a folder; nil if it was not measured. Cells that
// hold no number are NaN. All columns are as long as each other.
func ReadCurves(folder, protocol string) (Curves, error) {
	path := filepath.Join(folder, "tables", protocol+".csv")
	data, err := store.ReadFile(path)
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
