package eval_test

import (
	"sync"
	"testing"

	"github.com/switchyard-ml/switchyard/envs/fhn"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// oracle is the true oscillator as a Forecaster. It adds Normal noise of the given size to each
// draw, so that a test can see which noise a forecast was given.
type oracle struct {
	env   *fhn.Env
	noise float64
	nu    int
	seen  *queries
}

// queries records what a protocol asked, over all clones.
type queries struct {
	sync.Mutex
	all []model.Query
}

func newOracle(t testing.TB) oracle {
	t.Helper()
	env, err := fhn.New(fhn.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return oracle{env: env, nu: 1, seen: new(queries)}
}

func (o oracle) Dims() model.Dims        { return model.Dims{NX: 2, NU: o.nu, NZ: 2, M: 3} }
func (o oracle) Clone() model.Forecaster { return o }

func (o oracle) Forecast(dst *model.Forecast, q model.Query) {
	o.seen.Lock()
	o.seen.all = append(o.seen.all, q)
	o.seen.Unlock()
	n := q.Prefix.B
	dst.Resize(q.Horizon, n, q.Samples, 2, 3)
	clear(dst.Mean)
	plans := 1
	if o.nu > 0 {
		plans = len(q.Controls) / (q.Horizon * n)
	}
	for plan := range plans {
		for b := range n {
			o.rollOut(dst, &q, plan, b, 1/float32(plans))
		}
	}
}

func (o oracle) rollOut(dst *model.Forecast, q *model.Query, plan, b int, weight float32) {
	n := q.Prefix.B
	row := ((q.Prefix.T-1)*n + b) * 2
	v, w := float64(q.Prefix.Observations[row]), float64(q.Prefix.Observations[row+1])
	for k := range q.Horizon {
		u := 0.0
		if o.nu > 0 {
			u = float64(q.Controls[(plan*q.Horizon+k)*n+b])
		}
		v, w = o.env.Step(v, w, u)
		i := (k*n + b) * 2
		dst.Mean[i] += weight * float32(v)
		dst.Mean[i+1] += weight * float32(w)
		copy(dst.Paths[((plan*q.Horizon+k)*n+b)*2:], []float32{float32(v), float32(w)})
		if plan == 0 {
			dst.Draw[i] = float32(v + o.noise*q.Noise.Normal())
			dst.Draw[i+1] = float32(w + o.noise*q.Noise.Normal())
		}
	}
}

// Filter says that the switch follows the branch of the v-nullcline.
func (o oracle) Filter(dst *model.Filtering, prefix model.Batch, _ rng.Stream) {
	dst.Resize(prefix.T, prefix.B, 2, 3)
	clear(dst.Switches)
	for i := range prefix.T * prefix.B {
		branch := 1
		switch v := prefix.Observations[2*i]; {
		case v <= -1:
			branch = 0
		case v >= 1:
			branch = 2
		}
		dst.Switches[3*i+branch] = 1
	}
}
