package trained

import (
	"errors"
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/model"
)

// steered is a run with a control of a large mean beside its deviation.
func steered() *Run {
	return &Run{scale: files.Normalisation{
		Observations: files.Scale{Mean: []float64{0}, SD: []float64{2}},
		Controls:     files.Scale{Mean: []float64{5e6}, SD: []float64{0.5}},
	}}
}

// TestBatch_DoesNotReadTheFirstControl: it acted before the series, so that anything may stand there, as the zero of
// files does; later ones are checked.
func TestBatch_DoesNotReadTheFirstControl(t *testing.T) {
	t.Parallel()
	r, d := steered(), model.Dims{NX: 1, NU: 1}
	for _, first := range []float64{0, 1e300, math.NaN(), 5e6} {
		given := [][]float64{{first}, {5e6 + 1}}
		b, err := r.batch(d, Series{Observations: [][]float64{{1}, {2}}, Controls: given})
		if err != nil || b.Controls[0] != 0 || b.Controls[1] != 2 {
			t.Errorf("first %v: %v, %v", first, b.Controls, err)
		}
		if given[0][0] != first && !math.IsNaN(first) {
			t.Errorf("the first control %v of the caller is now %v", first, given[0][0])
		}
		o := &Online{run: r, dims: d}
		x, u := make([]float32, 1), []float32{7}
		if _, err := o.scale(&State{}, x, u, Observation{Values: []float64{1}, Controls: given[0]}); err != nil || u[0] != 0 {
			t.Errorf("the first observation of a stream, with the control %v: %v, %v", first, u, err)
		}
		if _, err := o.scale(&State{Steps: 1}, x, u, Observation{Values: []float64{1}, Controls: []float64{0}}); !errors.Is(err, ErrSeries) {
			t.Errorf("the second control of a stream is not checked: %v", err)
		}
	}
	for _, wrong := range [][][]float64{{{5e6}, {0}}, {{5e6}, {math.NaN()}}, {{}, {5e6}}, {{5e6}}} {
		if _, err := r.batch(d, Series{Observations: [][]float64{{1}, {2}}, Controls: wrong}); !errors.Is(err, ErrSeries) {
			t.Errorf("controls %v: %v", wrong, err)
		}
	}
}

// TestBounds_OfAConstantChannel: a channel that was constant in training has no deviation that later values could be
// too many of, given or forecast; what float32 cannot hold beside others is refused as where nothing is scaled.
func TestBounds_OfAConstantChannel(t *testing.T) {
	t.Parallel()
	d := model.Dims{NX: 2}
	r := &Run{scale: files.Normalisation{Observations: files.Scale{Mean: []float64{0, 0}, SD: []float64{0.5, files.ConstantSD}}}}
	for value, refused := range map[float64]bool{3e6: false, -3e9: false, 1e16: true} {
		b, err := r.batch(d, Series{Observations: [][]float64{{1, 0}, {1, value}}})
		if errors.Is(err, ErrSeries) != refused || !refused && b.Observations[3] != float32(value) {
			t.Errorf("%v: %v, %v", value, b.Observations, err)
		}
		if err := (&Forecast{Mean: [][]float64{{1, value}}}).check(r); errors.Is(err, ErrDiverged) != refused {
			t.Errorf("a forecast of %v: %v", value, err)
		}
	}
	if _, err := r.batch(d, Series{Observations: [][]float64{{3e6, 0}}}); !errors.Is(err, ErrSeries) {
		t.Errorf("6e6 deviations of a channel that varied: %v", err)
	}
}
