package eval_test

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/model"
)

// runaway is a model whose predictions are no numbers from the sixth image on.
type runaway struct{ silent }

func (r runaway) Clone() model.Forecaster { return r }

func (r runaway) Forecast(dst *model.Forecast, q model.Query) {
	r.silent.Forecast(dst, q)
	for i := 5 * q.Prefix.B * dst.NX; i < len(dst.Mean); i++ {
		dst.Mean[i] = float32(math.NaN())
	}
}

// TestPixels_OfAModelThatDiverges: a pixel without a prediction is not a dark one, of which few are wrong.
func TestPixels_OfAModelThatDiverges(t *testing.T) {
	env, o := newBall(t), task(10)
	r, err := eval.Pixels(runaway{silent{env.Spec()}}, env, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range eval.PixelHorizons() {
		if got := r.Rows[0].Frames[i].Value; math.IsNaN(got) != (n > 5) {
			t.Errorf("%d images: %v are wrong", n, got)
		}
	}
}
