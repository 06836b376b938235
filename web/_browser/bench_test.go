package browser

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/web"
)

const token = "0123456789abcdef-test"

// bench is a server over a folder of runs that the test writes.
type bench struct {
	t   *testing.T
	dir string
	url string

	mu    sync.Mutex
	live  map[string]*web.Live
	stop  func()
	asked []string
}

var (
	_ web.Source       = (*bench)(nil)
	_ web.Checkpointer = (*bench)(nil)
	_ web.Resumer      = (*bench)(nil)
	_ web.Editor       = (*bench)(nil)
)

func (b *bench) folder() web.Folder { return web.Folder(b.dir) }

func (b *bench) Ready() error { return nil }

func (b *bench) dress(r web.Run) web.Run {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.Live = b.live[r.Name]
	return r
}

func (b *bench) Runs() ([]web.Run, error) {
	list, err := b.folder().Runs()
	for i := range list {
		list[i] = b.dress(list[i])
	}
	return list, err
}

func (b *bench) Run(name string) (web.Run, error) {
	r, err := b.folder().Run(name)
	return b.dress(r), err
}

func (b *bench) ask(what, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, what+" "+name)
	return nil
}

func (b *bench) Stop(name string) error       { return b.ask("stop", name) }
func (b *bench) Checkpoint(name string) error { return b.ask("checkpoint", name) }
func (b *bench) Resume(name string) error     { return b.ask("resume", name) }

func (b *bench) Rename(from, to string) error { return b.folder().Rename(from, to) }
func (b *bench) Remove(name string) error     { return b.folder().Remove(name) }

func (b *bench) Label(name string, l store.Labels) error { return b.folder().Label(name, l) }

func (b *bench) requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.asked)
}

// newBench serves an empty folder of runs, and the sweeps of every test unless there are its own.
func newBench(t *testing.T, token string, own ...*web.Sweeps) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), live: map[string]*web.Live{}}
	served := sweeps(t)
	if len(own) > 0 {
		served = own[0]
	}
	s, err := web.Listen("127.0.0.1:0", web.Config{Source: b, Dir: b.dir, Token: token, Version: "1.2.3", Model: model, Sweeps: served})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	b.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(b.stop)
	b.url = s.URL()
	return b
}

// sweeps is one sweep, whose report a sweep over fhn/smoke has written.
func sweeps(t *testing.T) *web.Sweeps {
	t.Helper()
	report, err := os.ReadFile("testdata/sweep.json")
	if err != nil {
		t.Fatal(err)
	}
	return &web.Sweeps{
		List: func() any {
			return []any{map[string]any{"name": "rates", "state": "done", "trials": 20, "run_cap": 20, "metric": "validation_elbo", "best": -4.156, "began": "2026-11-23T06:33:35Z"}}
		},
		Show: func(name string) (any, error) {
			if name != "rates" {
				return nil, fs.ErrNotExist
			}
			return json.RawMessage(report), nil
		},
	}
}

// settings are what is unusual about a run.
type settings struct {
	steps     uint64 // done; 0: none
	of        uint64
	seed      uint64
	overrides []string
	config    string
	rate      string      // of learning; empty: 0.0005
	state     store.State // empty: it runs
	reason    string
	outlier   uint64 // the step whose objective is far off
	check     uint64 // steps between validations; 0: 20
}

// run makes a run and, unless it goes on, ends it.
func (b *bench) run(name string, s settings) *store.Run {
	b.t.Helper()
	if s.of == 0 {
		s.of = max(1000, s.steps)
	}
	config := fmt.Sprintf("preset: fhn\nseed: %d\nmodel:\n  kind: slds\n  latent: 4\noptim:\n  rate: %s\n%s", s.seed, cmp.Or(s.rate, "0.0005"), s.config)
	r, err := store.Create(b.dir, store.Draft{Name: name, Config: []byte(config), Overrides: s.overrides, Info: store.Info{
		Steps: s.of, Preset: "fhn", Seed: s.seed, Parameters: 3592, Command: append([]string{"train", "fhn"}, s.overrides...), Checkpoint: s.steps,
		Terms: []store.Term{{Name: "loss", Label: "loss"}, {Name: "reconstruction", Label: "reconstruction", Weight: 1}, {Name: "kl_state", Label: "KL state", Weight: 1, Note: "a note"}},
	}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = r.Close() }) // once more is no harm
	b.grow(r, 1, s.steps, s)
	err = os.WriteFile(filepath.Join(b.dir, name, store.Log), []byte(`{"event":"open","step":0}`+"\n"+`{"step":1,"theta":"580e"}`+"\n"), 0o600)
	tables := filepath.Join(b.dir, name, "tables")
	err = errors.Join(err, os.WriteFile(filepath.Join(tables, "fhn.txt"), []byte("R² of predictions k steps ahead\nk       1      2      5     10\nmodel  0.999  0.998  0.991  0.975\n"), 0o600),
		os.WriteFile(filepath.Join(tables, "fhn.csv"), []byte("k,model\n1,0.999\n"), 0o600))
	err = errors.Join(err, os.WriteFile(filepath.Join(b.dir, name, "figures", "fhn.svg"), []byte(drawing), 0o600))
	if s.state != "" {
		err = errors.Join(err, r.End(s.state, s.reason), r.Close())
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// drawing is a figure in the colours of the style sheet of figures.
const drawing = `<?xml version="1.0"?><svg width="600pt" height="160pt" viewBox="0 0 600 160" xmlns="http://www.w3.org/2000/svg"><path d="M0,0L600,0L600,160L0,160Z" style="fill:#FFFFFF" /><path d="M20,120L580,40" style="fill:none;stroke:#0072B2;stroke-width:2" /><text x="20" y="30" style="font-size:12px;fill:#1A1A1A">a figure</text></svg>`

// measured writes what the protocol ahead found.
func (b *bench) measured(name, report string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name, "tables", "ahead.json"), []byte(report), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// grow adds steps to a run, half a second each.
func (b *bench) grow(r *store.Run, from, to uint64, s settings) {
	b.t.Helper()
	g := rand.New(rand.NewPCG(s.seed, from))
	every := max(s.check, 1)
	if s.check == 0 {
		every = 20
	}
	begin := time.Now().Add(-time.Duration(to) * time.Second / 2).Truncate(time.Millisecond)
	best := -1e9
	for step := from; step <= to; step++ {
		objective := -2 - 8*math.Exp(-float64(step)/300) - 0.2*g.Float64() - 0.3*float64(s.seed%3)
		if step == s.outlier {
			objective = -500
		}
		seconds := float64(step) / 2
		m := store.Record{Step: step, Split: "train", Time: begin.Add(time.Duration(seconds * float64(time.Second))), Seconds: seconds, Values: store.Values{
			"objective": objective, "loss": -objective, "reconstruction": -objective - 0.5, "kl_state": 0.5, "gradient_norm": 3 + g.Float64(),
			"learning_rate": 0.0005, "step_seconds": 0.05 + 0.01*g.Float64(), "compute_seconds": 0.04, "workers": 2, "bytes_in": 14000, "bytes_out": 28000, "bytes_per_worker": 36000,
		}}
		err := r.Append(m)
		if step%every == 0 {
			m.Split, m.Values = "validation", store.Values{"objective": objective - 3, "elbo": objective - 4, "loss": 3 - objective}
			best = max(best, objective-3)
			err = errors.Join(err, r.Append(m))
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	if err := r.Update(func(i *store.Info) {
		i.Step = to
		if best > -1e9 {
			i.Metrics = store.Values{"validation_objective": best, "best_validation_objective": best, "best_step": float64(to), "validation_elbo": best - 1}
		}
	}); err != nil {
		b.t.Fatal(err)
	}
}

// model is what the page draws of a model, made up.
func model(context.Context, string) (any, error) {
	var series, mean, low, high, raster [][]float64
	var x, y []float64
	var regime []int
	for t := range 80 {
		v := 2 * math.Sin(float64(t)/6)
		series = append(series, []float64{v, math.Cos(float64(t) / 6)})
		p := 0.5 + 0.5*math.Tanh(3*v)
		raster = append(raster, []float64{p, 1 - p, 0})
		x, y, regime = append(x, v), append(y, math.Cos(float64(t)/6)), append(regime, int(2*(1-p)))
		if t >= 50 {
			w := float64(t-49) / 20
			mean, low, high = append(mean, []float64{0.9 * v, 0}), append(low, []float64{v - w, -w}), append(high, []float64{v + w, w})
		}
	}
	mode := func(re, im float64) map[string]float64 { return map[string]float64{"re": re, "im": im} }
	return map[string]any{
		"step": 300, "family": "slds", "series": "a series that was held out", "channels": []string{"voltage", "recovery"},
		"fan":      map[string]any{"begin": 50, "shown": []int{0, 1}, "series": series, "mean": mean, "low": low, "high": high, "inner_low": mean, "inner_high": mean},
		"raster":   raster,
		"colours":  []string{"#0072B2", "#E69F00", "#009E73"},
		"systems":  [][]map[string]float64{{mode(0.9, 0.2), mode(0.9, -0.2)}, {mode(0.7, 0), mode(-0.2, 0)}, {mode(1.02, 0), mode(0.4, 0)}},
		"portrait": map[string]any{"x": x, "y": y, "regime": regime, "share": 0.93},
		"strip":    map[string]any{"shape": []int{2, 2, 1}, "begin": 50, "steps": []int{50, 51}, "truth": [][]float64{{0, 1, 0.5, 1}, {1, 0, 1, 0}}, "mean": [][]float64{{0, 1, 1, 1}, {1, 0, 0.2, 0}}},
	}, nil
}
