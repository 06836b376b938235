package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/envs/hopper"
	"github.com/switchyard-ml/switchyard/envs/maze"
	"github.com/switchyard-ml/switchyard/envs/reacher"
	"github.com/switchyard-ml/switchyard/eval/figure"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/rng"
)

// maxShown is how many episodes fit side by side.
const maxShown = 4

// dataShowCommand is `data show`: it draws the first episodes of files or of a simulation. More episodes than fit
// on a page are a usage error.
func (a *app) dataShowCommand() *cobra.Command {
	var reading readFlags
	var simulating simulateFlags
	var dir string
	c := &cobra.Command{
		Use:   "show FILE|PRESET [key=value]... -o DIR",
		Short: "Plot trajectories, and the system itself if it is known",
		Long: `Plot the first episodes of files or of a simulation: observations and controls over
time, images as a strip, and for an environment the system itself (the maze with walls
and paths, the arm, the hopper). Writes PNG, SVG and the numbers as CSV.`,
		Example: "  " + a.invoked + " data show 'data/*.csv' -o pictures/own\n  " + a.invoked +
			" data show maze -o pictures/maze",
		Args: atLeastOne("FILE or PRESET"),
		RunE: func(c *cobra.Command, args []string) error {
			if simulating.episodes < 1 || simulating.episodes > maxShown {
				return config.Usagef("--episodes %d: 1 to %d fit on a page", simulating.episodes, maxShown)
			}
			idle, why := readNames(), "says how files are read, and a preset is simulated"
			if args[0] == stdin || isPath(args[0]) {
				idle, why = []string{"length", "seed"}, "is about a simulation, and files are read"
			}
			if err := unused(c, why, idle...); err != nil {
				return err
			}
			return a.inspecting(args, func(args []string) error {
				s, err := a.source(args, reading, simulating)
				if err != nil {
					return err
				}
				return a.draw(s, simulating.episodes, dir, args)
			})
		},
	}
	reading.add(c, false)
	simulating.add(c, 3, "episodes to draw")
	a.jsonFlag(c)
	c.Flags().StringVarP(&dir, "out", "o", ".", "output folder")
	return c
}

// source reads files or, if the first argument is no path, simulates a preset.
func (a *app) source(args []string, reading readFlags, simulating simulateFlags) (*simulation, error) {
	if !isPath(args[0]) {
		return a.simulate(args, simulating)
	}
	d, _, err := reading.guess(args)
	if err != nil {
		return nil, err
	}
	return &simulation{dataset: files.Normalisation{}.Apply(d)}, nil // as float32, without origins
}

// isPath distinguishes a path from the name of a preset, which has neither a file extension nor a pattern. A word
// without either is a path if there is such a file or folder. A configuration file is none: it is simulated.
func isPath(arg string) bool {
	if isFileName(arg) {
		return false // a configuration file, to be simulated
	}
	if filepath.Ext(arg) != "" || strings.ContainsAny(arg, "*?[") {
		return true
	}
	_, err := os.Stat(arg)
	return err == nil
}

// draw writes the figures that fit the data and prints their paths. It refuses to write what is read, or would be read
// by the same command, and to replace what is no earlier picture.
func (a *app) draw(s *simulation, count int, dir string, read []string) error {
	d := s.dataset
	// The first ones, so that the same command draws the same picture.
	var episodes []int
	for i := range min(count, len(d.Episodes)) {
		episodes = append(episodes, i)
	}
	var figures []figure.Figure
	if d.Images() {
		figures = append(figures, figure.Images("images", d, episodes))
	}
	if !d.Images() || d.Spec.Control > 0 || len(d.Spec.Labels) > 0 {
		figures = append(figures, figure.Trajectories("trajectories", d, episodes))
	}
	if s.env != nil {
		figures = append(figures, scenes(s.env, d, episodes)...)
	}
	for _, f := range figures {
		for _, name := range f.Files() {
			if path := filepath.Join(dir, name); files.Reads(read, path) {
				return config.Hint(config.Usagef("--out %s: the file %s is, or would be, read by this command", dir, path),
					"choose another folder")
			}
		}
		if path := f.Replaces(dir); path != "" {
			return config.Hint(config.Usagef("--out %s: the pictures would replace %s, which no earlier ones wrote", dir, path),
				"choose another folder, or move %s away", filepath.Base(path))
		}
	}
	// From here on an interruption finds something that was written.
	if err := a.leftovers.keep(func() error { return os.MkdirAll(dir, 0o755) }); err != nil {
		return fmt.Errorf("make the folder of the pictures: %w", err)
	}
	var pictures []string
	for _, f := range figures {
		paths, err := f.Write(dir)
		if err != nil {
			return fmt.Errorf("draw the data: %w", err)
		}
		pictures = append(pictures, paths[0])
	}
	return a.wroteFiles(pictures...)
}

// scenes draws the system itself, for the environments that have a picture of it; nil for all others.
func scenes(env envs.Env, d *files.Dataset, episodes []int) []figure.Figure {
	switch e := env.(type) {
	case *maze.Env:
		return []figure.Figure{figure.Maze("maze", d, episodes, e.Walls(), maze.A().Radius)}
	case *reacher.Env:
		return []figure.Figure{figure.Arm("arm", d, episodes)}
	case *hopper.Env:
		return []figure.Figure{figure.Hopper("hopper", d, episodes)}
	}
	return nil
}

// simulation is an environment with the episodes that it made, or recordings alone: then env is nil and config
// empty.
type simulation struct {
	config  config.Config
	env     envs.Env
	dataset *files.Dataset
}

// simulateFlags override the settings of a preset; episodes and length are 0 where the preset decides.
type simulateFlags struct {
	episodes, length int
	seed             uint64
}

// add defines the flags. episodes is the default of --episodes, and of says what it counts.
func (f *simulateFlags) add(c *cobra.Command, episodes int, of string) {
	c.Flags().IntVar(&f.episodes, "episodes", episodes, of)
	c.Flags().IntVar(&f.length, "length", 0, "time steps per episode (0: as in the preset)")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "seed of the simulation; a run with this seed trains on these episodes")
}

// dataGenerateCommand is `data generate`: it simulates episodes into a file. A missing --out, and an output that
// must not be written, are found before anything is simulated.
func (a *app) dataGenerateCommand() *cobra.Command {
	var flags simulateFlags
	var out target
	c := &cobra.Command{
		Use:   "generate PRESET [key=value]... --out FILE",
		Short: "Simulate episodes into a file",
		Long: `Simulate the training episodes of a preset and write observations y (or images), controls
u, true states and labels, and dt. The file name ends in .npz or .csv, or in / for a
folder with one CSV file per episode. The same arguments give the same bytes.`,
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
	c.Flags().StringVarP(&out.path, "out", "o", "", "output file")
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

// wrote prints what a written file holds, with the hash of its data: not of its bytes, but of their canonical
// encoding.
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

// maxSimulated is the largest number of values that one command simulates: they are held in memory as a whole.
const maxSimulated = 1 << 30

// simulate makes the episodes of a preset; flags and settings override it. The episodes of a seed are those that a
// run with this seed trains on. A configuration of recorded data, and more values than maxSimulated, are usage
// errors.
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
	if f.episodes < 1 {
		return nil, config.Usagef("--episodes %d: must be at least 1", f.episodes)
	}
	if f.length < 2 {
		return nil, config.Usagef("--length %d: must be at least 2", f.length)
	}
	spec := env.Spec()
	width := spec.Observation + spec.Control + spec.State + len(spec.Labels)
	// Divided, not multiplied, so that it cannot overflow.
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
