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
)

// maxShown is how many episodes fit side by side.
const maxShown = 4

func (a *app) dataShowCommand() *cobra.Command {
	var reading readFlags
	var simulating simulateFlags
	var dir string
	c := &cobra.Command{
		Use:   "show FILE|PRESET [key=value]... -o DIR",
		Short: "Draw trajectories, and the system itself where it is known",
		Long: `Draw the first episodes of files, or of a simulation: observations and controls over
time, images as a strip, and for an environment the system itself (the maze with walls
and paths, the arm, the hopper). PNG, SVG and the numbers as CSV go into the folder.`,
		Example: "  " + a.invoked + " data show 'data/*.csv' -o pictures/own\n  " + a.invoked +
			" data show maze -o pictures/maze",
		Args: atLeastOne("FILE or PRESET"),
		RunE: func(_ *cobra.Command, args []string) error {
			if simulating.episodes < 1 || simulating.episodes > maxShown {
				return config.Usagef("--episodes %d: 1 to %d fit on a page", simulating.episodes, maxShown)
			}
			return a.inspecting(args, func(args []string) error {
				s, err := a.source(args, reading, simulating)
				if err != nil {
					return err
				}
				return a.draw(s, simulating.episodes, dir)
			})
		},
	}
	reading.add(c)
	simulating.add(c, 3, "episodes to draw")
	a.jsonFlag(c)
	c.Flags().StringVarP(&dir, "out", "o", ".", "folder of the pictures")
	return c
}

// source reads files or simulates a preset.
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

// isPath distinguishes a path from the name of a preset, which has neither a file extension nor a pattern.
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

// draw writes the figures that fit the data and prints their paths.
func (a *app) draw(s *simulation, count int, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the pictures: %w", err)
	}
	d := s.dataset
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

// scenes draws the system itself, for the environments that have a picture of it.
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
