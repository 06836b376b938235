package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"

	"github.com/switchyard-ml/switchyard/rng"
)

// simulation is an environment and the episodes to simulate with it.
type simulation struct {
	config  config.Config
	env     envs.Env
	dataset *files.Dataset
}

// simulateFlags override the settings of a preset.
type simulateFlags struct {
	episodes, length int
	seed             uint64
}

func (f *simulateFlags) add(c *cobra.Command, episodes int, of string) {
	c.Flags().IntVar(&f.episodes, "episodes", episodes, of)
	c.Flags().IntVar(&f.length, "length", 0, "time steps of an episode (0: as in the preset)")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "seed of the simulation; a run with it trains on these episodes")
}

func (a *app) dataGenerateCommand() *cobra.Command {
	var flags simulateFlags
	var out target
	c := &cobra.Command{
		Use:   "generate PRESET [key=value]... --out FILE",
		Short: "Simulate episodes into a file",
		Long: `Simulate the training episodes of a preset: observations as y (or images), controls u,
true states and labels, and dt. The file ends in .npz or .csv, or in / for a folder with
one CSV file per episode. The same arguments give the same bytes.`,
		Example: "  " + a.invoked + " data generate fhn --episodes 100 --length 400 --seed 1 --out fhn.npz\n  " +
			a.invoked + " data generate maze env.balls=1 --out maze.npz",
		Args:              atLeastOne("PRESET"),
		ValidArgsFunction: a.completeConfig,
		RunE: func(_ *cobra.Command, args []string) error {
			if out.path == "" {
				return config.Hint(config.Usagef("--out FILE is needed"), "%s", outputEndings)
			}
			if err := out.check(nil); err != nil {
				return err
			}
			return a.atOnce(func() error {
				s, err := a.simulate(args, flags)
				if err != nil {
					return err
				}
				if err := a.writeData(s.dataset, out.path); err != nil {
					return err
				}
				return a.wrote(s.dataset, out.path)
			})
		},
	}
	flags.add(c, 0, "episodes (0: as many as the preset trains on)")
	c.Flags().StringVarP(&out.path, "out", "o", "", "file to write")
	out.addForce(c)
	a.jsonFlag(c)
	return c
}

// writtenData is what a command that writes data prints with --json.
type writtenData struct {
	File     string `json:"file"`
	Episodes int    `json:"episodes"`
	Steps    int    `json:"steps"`
	SHA256   string `json:"sha256"`
}

// wrote prints what a written file holds.
func (a *app) wrote(d *files.Dataset, path string) error {
	hash, err := d.Hash()
	if err != nil {
		return err
	}
	return a.result(writtenData{path, len(d.Episodes), d.Steps(), hash}, func() error {
		return a.printf("%s: %s, %s steps, sha256 %s\n", path, terminal.Count(len(d.Episodes), "episode"),
			terminal.Group(d.Steps()), hash)
	})
}

// maxSimulated is the largest number of values that one command simulates.
const maxSimulated = 1 << 30

// simulate makes the episodes of a preset; flags and settings override it.
func (a *app) simulate(args []string, f simulateFlags) (*simulation, error) {
	resolved, _, err := a.resolve(args)
	if err != nil {
		return nil, err
	}
	c := resolved.Config
	if c.Recorded() {
		return nil, config.Hint(config.Usagef("%s has nothing to simulate: its data come from files", args[0]),
			"name an environment, such as fhn or maze")
	}
	env, err := config.Environment(c)
	if err != nil {
		return nil, err
	}
	if f.episodes == 0 {
		f.episodes = c.Env.Episodes
	}
	if f.length == 0 {
		f.length = c.Env.Length
	}
	if f.episodes < 1 || f.length < 2 {
		return nil, config.Usagef("--episodes %d --length %d: at least 1 episode of 2 steps", f.episodes, f.length)
	}
	spec := env.Spec()
	width := spec.Observation + spec.Control + spec.State + len(spec.Labels)
	if f.episodes > maxSimulated/width/f.length {
		return nil, config.Hint(config.Usagef("%d episodes of %d steps with %d values are too many for one file", f.episodes,
			f.length, width), "give --episodes or --length")
	}
	d, err := files.Generate(env, rng.New(f.seed, rng.Episode), f.episodes, f.length)
	if err != nil {
		return nil, fmt.Errorf("generate the data: %w", err)
	}
	return &simulation{config: c, env: env, dataset: d}, nil
}
