package cmd

import (
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/config"
)

func (a *app) smoothCommand() *cobra.Command {
	var f asking
	c := a.question("smooth NAME", "Infer states from whole recordings, and fill gaps",
		`Infer the latent state of each step from all of a recording, before and after it, and
what the model expects to be observed there: missing values are filled in. Files hold
observations [steps, channels], mean and sd [steps, states].`,
		"  "+a.invoked+" smooth mine --data gaps.csv --out whole.csv,whole.png",
		func(name string) error {
			run, list, columns, err := a.openWithRecordings(&f, name)
			if err != nil {
				return err
			}
			answers, err := each(list, run.Smooth)
			if err != nil {
				return err
			}
			return a.tell(&f, switchyard.Smoothings(list, answers, columns))
		})
	f.add(c, "smooth")
	a.jsonFlag(c)
	return c
}

func (a *app) segmentCommand() *cobra.Command {
	var f asking
	c := a.question("segment NAME", "Divide recordings into regimes",
		`Divide recordings into regimes: the probability of each regime at each step, how long
regimes last, what follows what, and the linear system of each with its eigenvalues,
time constants and periods. Files hold probability [steps, regimes] and regime [steps],
and for each regime A, B, bias, Q, eigenvalues, time_constants, periods, dwell_mean,
dwell_median, visits and steps, and transitions [regimes, regimes].`,
		"  "+a.invoked+" segment mine --out regimes.npz,regimes.svg",
		func(name string) error {
			run, list, columns, err := a.openWithRecordings(&f, name)
			if err != nil {
				return err
			}
			y, err := segmentations(run, list, columns, f.seed)
			if err != nil {
				return err
			}
			return a.tell(&f, y)
		})
	f.add(c, "segment")
	a.jsonFlag(c)
	return c
}

func (a *app) linearizeCommand() *cobra.Command {
	var f asking
	c := a.question("linearize NAME", "Give the linear system at each step of recordings",
		`Give the linear system z' = A z + B u + bias that leads to each step of recordings, at
the mixing weights that the filter infers there, and C, the sensitivity of the observed
channels to the latent state. B and C are in the units of the data. Files hold
A [steps, states, states], B, bias, C, state and moduli; the first step has none.`,
		"  "+a.invoked+" linearize mine --data today.csv --out systems.npz",
		func(name string) error {
			run, list, columns, err := a.openWithRecordings(&f, name)
			if err != nil {
				return err
			}
			for _, r := range list {
				if len(r.Observations) < 2 {
					return config.Usagef("%s has a single step, to which no system leads", r.Name)
				}
			}
			answers, err := each(list, func(s switchyard.Series) ([]switchyard.Linearization, error) {
				return run.Linearize(s, columns.DT, f.seed)
			})
			if err != nil {
				return err
			}
			return a.tell(&f, switchyard.Linearizations(list, answers, columns))
		})
	f.add(c, "linearize along")
	a.jsonFlag(c)
	return c
}

func (a *app) simulateCommand() *cobra.Command {
	var f asking
	var q switchyard.SimulateQuery
	var controls string
	c := a.question("simulate NAME", "Make up series by the model alone",
		`Draw series from the trained model alone: initial states, regimes, noise and
observations, in the units and under the names of the data. Files hold y and mean
[steps, channels], states [steps, states] and weights [steps, regimes], behind an axis
of episodes if there are several: data commands read the npz.`,
		"  "+a.invoked+" simulate mine --steps 500 --episodes 3 --out made.npz,made.svg\n  "+
			a.invoked+" simulate mine --in data.npz --out made.npz",
		func(name string) error {
			run, err := a.open(&f, name)
			if err != nil {
				return err
			}
			q.Seed = f.seed
			if len(f.data) > 0 {
				return a.simulateLike(&f, name, run, q)
			}
			columns, err := run.Columns()
			if err != nil {
				return err
			}
			if controls != "" {
				if q.Controls, err = readControls(controls, columns.Controls); err != nil {
					return err
				}
				q.Steps = len(q.Controls)
			}
			list, err := run.Simulate(q)
			if err != nil {
				return err
			}
			return a.tell(&f, switchyard.Simulations(list, columns))
		})
	f.addOut(c)
	a.jsonFlag(c)
	f.reading.add(c)
	c.Flags().StringSliceVar(&f.in, "in", nil, "files with recordings: a series is made up for each, under its "+
		"controls and of its length")
	c.Flags().StringVar(&controls, "controls", "", "file with the controls, a row for each step, in place of --steps: "+
		"CSV, npz or npy")
	c.Flags().IntVar(&q.Steps, "steps", 100, "time steps of a series")
	c.Flags().IntVar(&q.Episodes, "episodes", 1, "how many series")
	return c
}

// simulateLike makes up a series for each recording of files, under its controls and cut to the shortest.
func (a *app) simulateLike(f *asking, name string, run *switchyard.Run, q switchyard.SimulateQuery) error {
	list, columns, err := a.recordings(f, name, run)
	if err != nil {
		return err
	}
	steps := len(list[0].Observations)
	for _, r := range list {
		steps = min(steps, len(r.Observations))
	}
	var all []switchyard.Simulation
	for i, r := range list {
		q.Steps, q.Episodes, q.Controls, q.Seed = steps, 1, r.Controls, f.seed+uint64(i)
		if q.Controls != nil {
			q.Controls = q.Controls[:steps]
		}
		one, err := run.Simulate(q)
		if err != nil {
			return err
		}
		all = append(all, one...)
	}
	return a.tell(f, switchyard.Simulations(all, columns))
}
