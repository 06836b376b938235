package figure_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/ball"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/envs/hopper"
	"github.com/switchyard-ml/switchyard/envs/maze"
	"github.com/switchyard-ml/switchyard/envs/reacher"
	"github.com/switchyard-ml/switchyard/eval/figure"
	"github.com/switchyard-ml/switchyard/rng"
)

func simulate(t testing.TB, env envs.Env, err error) *files.Dataset {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	d, err := files.Generate(env, rng.New(1, rng.Episode), 2, 12)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// dataFigures are one figure of each kind.
func dataFigures(t testing.TB) map[string]figure.Figure {
	t.Helper()
	both := []int{0, 1}
	m, err := maze.New(maze.A())
	mazes := simulate(t, m, err)
	r, err := reacher.New(reacher.DefaultConfig())
	arms := simulate(t, r, err)
	h, err := hopper.New(hopper.DefaultConfig())
	hoppers := simulate(t, h, err)
	b, err := ball.New(ball.DefaultConfig())
	balls := simulate(t, b, err)
	n, err := envs.NewNoise(9, 7)
	return map[string]figure.Figure{
		"maze":         figure.Maze("maze", mazes, both, m.Walls(), 0.06),
		"arm":          figure.Arm("arm", arms, both),
		"hopper":       figure.Hopper("hopper", hoppers, both),
		"images":       figure.Images("images", balls, both),
		"trajectories": figure.Trajectories("trajectories", mazes, both),
		"labels":       figure.Trajectories("labels", balls, []int{1}),
		"noise":        figure.Trajectories("noise", simulate(t, n, err), []int{0}),
		"own":          figure.Trajectories("own", ownData(t), both),
	}
}

// ownData has missing values, a constant and a channel without any value, modes and unequal lengths.
func ownData(t testing.TB) *files.Dataset {
	t.Helper()
	path := filepath.Join(t.TempDir(), "own.csv")
	text := "episode,y_a,y_flat,y_none,u,z\n0,1,5,,1,0\n0,,5,,1,0\n0,,5,,1,1\n0,4,5,,2,1\n1,1,5,,1,0\n1,2,5,,1,7\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := files.Read([]string{path}, files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDataFigures_AreDrawn(t *testing.T) {
	figures := dataFigures(t)
	for name, f := range figures {
		if image, err := f.SVG(); err != nil || !bytes.Contains(image, []byte("episode")) {
			t.Errorf("%s: %d bytes without a title (%v)", name, len(image), err)
		}
	}
	paths, err := figures["images"].Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	picture, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(picture)); err != nil {
		t.Error(err)
	}
}

func TestDataFigures_SameDataSameBytes(t *testing.T) {
	again := dataFigures(t)
	figures := dataFigures(t)
	for _, name := range []string{"maze", "images", "own"} {
		f := figures[name]
		x, err := f.SVG()
		if err != nil {
			t.Fatal(err)
		}
		y, err := again[name].SVG()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(x, y) {
			t.Errorf("%s differs from one rendering to the next", name)
		}
	}
}

// The numbers beside a picture are those of the data; missing values are empty.
func TestTrajectories_Table(t *testing.T) {
	dir := t.TempDir()
	if _, err := figure.Trajectories("own", ownData(t), []int{0}).Write(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "own_episode0.csv"))
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := "[[step y_a y_flat y_none u1 z] [0 1 5   0] [1  5  1 0] [2  5  1 1] [3 4 5  2 1]]"
	if got := fmt.Sprint(records); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A table has the time and the labels, and numbers as short as those of the file.
func TestTrajectories_TableAsTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "in.csv")
	if err := os.WriteFile(path, []byte("t,y,label_on\n0,0.1,0\n0.1,-3.3,1\n0.2,1e-7,1\n0.3,2,0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := files.Read([]string{path}, files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := figure.Trajectories("out", d, []int{0}).Write(dir); err != nil {
		t.Fatal(err)
	}
	want := "step,t,y1,label_on\n0,0,0.1,0\n1,0.1,-3.3,1\n2,0.2,1e-07,1\n3,0.3,2,0\n"
	if got, err := os.ReadFile(filepath.Join(dir, "out_episode0.csv")); err != nil || string(got) != want {
		t.Errorf("got %s, want %s (%v)", got, want, err)
	}
}

// The hopper is drawn at the heights that the simulation has: the foot is never far below ground,
// and at the step before a contact it is near it.
func TestHopper_StandsOnTheGround(t *testing.T) {
	h, err := hopper.New(hopper.DefaultConfig())
	d := simulate(t, h, err)
	dir := t.TempDir()
	if _, err := figure.Hopper("hopper", d, []int{0, 1}).Write(dir); err != nil {
		t.Fatal(err)
	}
	for i := range d.Episodes {
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("hopper_episode%d.csv", i)))
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
			var step int
			var x, z, ankleX, ankleZ float64
			if _, err := fmt.Sscanf(strings.ReplaceAll(line, ",", " "), "%d %f %f %f %f", &step, &x, &z, &ankleX, &ankleZ); err != nil {
				t.Fatal(err)
			}
			if ankleZ < 0.03 || ankleZ > 0.5 || z > 1.5 {
				t.Errorf("episode %d, step %d: torso at %.2f m, ankle at %.2f m", i, n, z, ankleZ)
			}
		}
	}
}

// TestMaze_MetBothInAStep: an agent that met a wall and another agent in the same step has both signs.
func TestMaze_MetBothInAStep(t *testing.T) {
	m, err := maze.New(maze.A())
	d := simulate(t, m, err)
	const step, agents = 5, 3
	labels := d.Episodes[0].Labels[4*agents*step:]
	clear(labels[:4*agents])
	scene := func() string {
		svg, err := figure.Maze("maze", d, []int{0}, m.Walls(), 0.06).SVG()
		if err != nil {
			t.Fatal(err)
		}
		return string(svg)
	}
	labels[0] = 1
	wall := scene()
	labels[3*agents] = 1
	if scene() == wall {
		t.Error("the other agent has no sign")
	}
}

// TestImages_MissingPixels: the mean of an image is that of the pixels that were measured.
func TestImages_MissingPixels(t *testing.T) {
	b, err := ball.New(ball.DefaultConfig())
	d := simulate(t, b, err)
	e, n := &d.Episodes[0], d.Spec.Observation
	for i := range e.Observations {
		e.Observations[i] = 1
	}
	e.Mask = slices.Repeat([]float32{1}, len(e.Observations))
	for i := range n / 4 {
		e.Observations[i], e.Mask[i] = 0, 0
	}
	clear(e.Mask[n : 2*n])
	dir := t.TempDir()
	if _, err := figure.Images("images", d, []int{0}).Write(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "images_episode0.csv"))
	if want := "step,mean pixel\n0,1\n1,\n2,1\n"; err != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("got %.40q, want %q (%v)", text, want, err)
	}
}
