package cmd

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/config"

	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/trained"
)

// mostRegimeSteps is how many steps of recordings are divided into regimes when a run ends; segment divides more.
const mostRegimeSteps = 20000

// showRegimes divides the recordings of a finished run on own data into regimes, prints how long they last and how the
// system moves in each, and writes figures/regimes.png and tables/segments.csv. Families without regimes show nothing.
func (a *app) showRegimes(run *store.Run) error {
	var f asking
	f.checkpoint = checkpoint.Best
	open, list, columns, err := a.openWithRecordings(&f, run.Name())
	if err != nil {
		return err
	}
	steps := 0
	for i, r := range list {
		if steps += len(r.Observations); steps > mostRegimeSteps && i > 0 {
			list = list[:i]
			break
		}
	}
	y, err := segmentations(open, list, columns, 0)
	if errors.Is(err, switchyard.ErrUnable) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := errors.Join(a.printf("\n"), y.WriteText(a.out)); err != nil {
		return err
	}
	for _, path := range []string{run.Path("figures", "regimes.png"), run.Path("tables", "segments.csv")} {
		if err := a.replaceFile(path, func(w io.Writer) error { return y.Write(w, path) }); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		if err := a.printf("regimes  %s\n", path); err != nil {
			return err
		}
	}
	return nil
}

// segmentations divide recordings into regimes.
func segmentations(run *switchyard.Run, list []switchyard.Recording, columns switchyard.Columns,
	seed uint64,
) (*switchyard.Answer, error) {
	answers, err := each(list, func(s switchyard.Series) (switchyard.Segmentation, error) { return run.Segment(s, seed) })
	if err != nil {
		return nil, err
	}
	systems, err := run.Systems(columns.DT)
	if err != nil {
		return nil, err
	}
	return switchyard.Segmentations(list, answers, systems, columns), nil
}

// usesOf are commands that use a model that was trained on own data.
func (a *app) usesOf(c config.Config, name string) [][]string {
	next := [][]string{
		{"forecast", name, "--out", name + ".csv," + name + ".png"},
		{"export", name, "--format", "npz"},
	}
	if slices.Contains(trained.Exports.Families, c.Model.Kind) {
		next[1][3] = "onnx"
	}
	if slices.Contains(trained.Segments.Families, c.Model.Kind) {
		next = append(next, []string{"segment", name, "--out", name + "-regimes.npz"})
	}
	return append(next, []string{"backtest", name}, []string{"runs", "show", name})
}
