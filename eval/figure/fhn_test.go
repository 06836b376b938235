package figure_test

import (
	"bytes"
	"encoding/csv"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/switchyard-ml/switchyard/envs/fhn"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/figure"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// almost is the true oscillator with a slightly wrong recovery and some noise, as a model that has
// learned most of it would be. Its five switches share the state space softly.
type almost struct{ env *fhn.Env }

func newAlmost(t testing.TB) almost {
	t.Helper()
	c := fhn.DefaultConfig()
	c.Rate = 0.083
	env, err := fhn.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return almost{env}
}

func (a almost) Dims() model.Dims        { return model.Dims{NX: 2, NU: 1, NZ: 4, M: 8} }
func (a almost) Clone() model.Forecaster { return a }

func (a almost) Forecast(dst *model.Forecast, q model.Query) {
	n := q.Prefix.B
	dst.Resize(q.Horizon, n, q.Samples, 2, 8)
	for b := range n {
		row := ((q.Prefix.T-1)*n + b) * 2
		v, w := float64(q.Prefix.Observations[row]), float64(q.Prefix.Observations[row+1])
		x, y := v, w
		for k := range q.Horizon {
			u := float64(q.Controls[k*n+b])
			v, w = a.env.Step(v, w, u)
			x, y = a.env.Step(x, y, u)
			x, y = x+0.02*q.Noise.Normal(), y+0.005*q.Noise.Normal()
			i := (k*n + b) * 2
			dst.Mean[i], dst.Mean[i+1] = float32(v), float32(w)
			dst.Draw[i], dst.Draw[i+1] = float32(x), float32(y)
		}
		// Every rollout has the noise of the draw, and a stimulus of its own if there is one for each.
		plan := 0
		for s := range q.Samples {
			if len(q.Controls) > q.Horizon*n {
				plan = s * q.Horizon * n
			}
			x, y = float64(q.Prefix.Observations[row]), float64(q.Prefix.Observations[row+1])
			for k := range q.Horizon {
				x, y = a.env.Step(x, y, float64(q.Controls[plan+k*n+b]))
				x, y = x+0.02*q.Noise.Normal(), y+0.005*q.Noise.Normal()
				copy(dst.Paths[((s*q.Horizon+k)*n+b)*2:], []float32{float32(x), float32(y)})
			}
		}
	}
}

func (a almost) Filter(dst *model.Filtering, p model.Batch, noise rng.Stream) {
	dst.Resize(p.T, p.B, 4, 8)
	clear(dst.Switches)
	centres := [][2]float64{{-1.8, 0.8}, {-1.2, -0.3}, {0, -0.4}, {1.7, 0.5}, {0.3, 1.4}}
	for i := range p.T * p.B {
		v, w := float64(p.Observations[2*i]), float64(p.Observations[2*i+1])
		sum := 0.0
		row := dst.Switches[8*i : 8*i+8]
		for j, c := range centres {
			e := math.Exp(-3*math.Hypot(v-c[0], w-c[1]) + 0.3*noise.Normal())
			row[j] = float32(e)
			sum += e
		}
		for j := range row {
			row[j] /= float32(sum)
		}
	}
}

func build(t testing.TB) figure.Figure {
	t.Helper()
	o := eval.DefaultFHNOptions()
	report, err := eval.FHN(newAlmost(t), o)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := eval.FHNFigure(newAlmost(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return figure.FHN(report, picture)
}

// FIGURE_DIR=folder keeps the files, to be looked at.
func TestFHN_WritesEveryFile(t *testing.T) {
	dir := t.TempDir()
	paths, err := build(t).Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{"fhn_fan.csv": 1 + 61 + 30, "fhn_r2.csv": 1 + 30, "fhn_portrait.csv": 1 + 100*40 - 10}
	want := []string{"fhn.png", "fhn.svg", "fhn_fan.csv", "fhn_r2.csv", "fhn_portrait.csv"}
	if len(paths) != len(want) {
		t.Fatalf("wrote %q, want %q", paths, want)
	}
	for i, path := range paths {
		if filepath.Base(path) != want[i] {
			t.Errorf("wrote %s, want %s", path, want[i])
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := rows[want[i]]; ok {
			records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
			if err != nil || len(records) != n {
				t.Errorf("%s has %d lines, want %d (%v)", want[i], len(records), n, err)
			}
		}
	}
}

func TestFHN_SameDataSameBytes(t *testing.T) {
	a, b := build(t), build(t)
	for name, render := range map[string]func(figure.Figure) ([]byte, error){
		"PNG": figure.Figure.PNG, "SVG": figure.Figure.SVG,
	} {
		x, err := render(a)
		if err != nil {
			t.Fatal(err)
		}
		y, err := render(b)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(x, y) {
			t.Errorf("the %s differs from one rendering to the next", name)
		}
	}
}

// A model that diverged is drawn too: whoever trained it needs the picture most.
func TestFHN_DrawsADivergedModel(t *testing.T) {
	nan := math.NaN()
	o := eval.DefaultFHNOptions()
	o.Horizon = 2
	curve := []float64{nan, math.Inf(-1)}
	both := eval.ModelR2{Mean: curve, Draw: curve}
	report := eval.FHNReport{Options: o, AtStart: eval.FHNReading{
		Unknown: both, Drawn: both, Known: both, Ceiling: []float64{1, 1}, Linear: curve, Persistence: curve,
	}}
	path := [][2]float64{{nan, nan}, {1e30, math.Inf(1)}}
	picture := eval.FHNPicture{
		Fan: eval.FHNFan{
			Start: 1, Levels: []float64{.05, .25, .5, .75, .95}, DT: .1,
			Truth: [][2]float64{{0, 0}, {1, 1}, {2, 1}, {1, 0}}, Quantiles: [][][2]float64{path, path, path, path, path},
		},
		Portrait: eval.FHNPortrait{System: newAlmost(t).env, Points: [][2]float64{{0, 0}}, Weights: [][]float64{{nan, nan}}},
	}
	image, err := figure.FHN(report, picture).PNG()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(image)); err != nil {
		t.Error(err)
	}
}

func TestFigure_WriteSaysWhatFailed(t *testing.T) {
	if _, err := build(t).Write(filepath.Join(t.TempDir(), "missing")); !os.IsNotExist(unwrap(err)) {
		t.Errorf("err = %v, want a missing folder", err)
	}
}

func unwrap(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return err
}
