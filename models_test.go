package switchyard_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/arhmm"
	"github.com/switchyard-ml/switchyard/model/pointwise"
	"github.com/switchyard-ml/switchyard/rng"
)

// modelRow is a row of the table of docs/models.md, with the settings that choose the model.
type modelRow struct{ name, settings string }

// chosen are the settings of families that have several rows, or that are to fit few sweeps here.
var chosen = map[string][]modelRow{
	"slds": {
		{"`slds`, concrete", "model.switching=concrete"},
		{"`slds`, concrete, sigmoid", "model.switching=concrete model.weights=sigmoid"},
		{"`slds`, normal", "model.switching=normal"},
		{"`slds`, deterministic", "model.switching=deterministic"},
		{"`slds`, categorical", "model.switching=categorical"},
	},
	"rslds":  {{"`rslds`", "model.chains=1 model.sweeps=8 model.burn_in=4 model.draws=4 model.exchange=8"}},
	"trslds": {{"`trslds`", "model.chains=1 model.sweeps=8 model.burn_in=4 model.draws=4 model.exchange=8"}},
	"arhmm":  {{"`arhmm`", "model.chains=1 model.sweeps=8 model.exchange=8"}},
}

// modelRows are the rows of all families.
func modelRows() []modelRow {
	var list []modelRow
	for _, family := range config.Builtin().Kinds().Families() {
		rows := chosen[family]
		if rows == nil {
			rows = []modelRow{{name: "`" + family + "`"}}
		}
		for _, r := range rows {
			list = append(list, modelRow{r.name, "model.kind=" + family + " " + r.settings})
		}
	}
	return list
}

// TestModels_TableIsTrue: the table of docs/models.md is what the models do when they are asked, and no family is missing.
func TestModels_TableIsTrue(t *testing.T) {
	lines := []string{
		"| model | trained by | bound | forecast | uncertainty | filter | smooth | segment | images | controls | missing values | several recordings |",
		"|---|---|---|---|---|---|---|---|---|---|---|---|",
	}
	for _, row := range modelRows() {
		lines = append(lines, "| "+row.name+" | "+strings.Join(abilities(t, strings.Fields(row.settings)), " | ")+" |")
	}
	want := strings.Join(lines, "\n")
	page, err := os.ReadFile("docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), want) {
		t.Errorf("docs/models.md has not the table\n%s", want)
	}
}

func mark(yes bool) string {
	if yes {
		return "✓"
	}
	return "–"
}

// abilities are the cells of a row.
func abilities(t *testing.T, settings []string) []string {
	t.Helper()
	kinds := config.Builtin().Kinds()
	resolved, err := kinds.Resolve(config.Sources{Preset: "maze/smoke", Arguments: settings})
	if err != nil {
		t.Fatal(err)
	}
	m, err := config.NewModel(resolved.Config, model.Data{NX: 2, NU: 1})
	if err != nil {
		t.Fatal(err)
	}
	way, hidden, recordings := "gradient", false, true
	switch m := m.(type) {
	case model.Trainable:
		stir(m)
		hidden = loss(m, 0) == loss(m, 7)
	case model.Fitter:
		way = "sampling"
		switch m.(type) {
		case *arhmm.Model:
			way = "EM"
		case *pointwise.NaiveModel:
			way = "counting"
		}
		hidden = slices.Equal(fitted(t, m, 0), fitted(t, m, 7))
	default:
		recordings = false
	}
	f := m.(model.Forecasting).NewForecaster()
	_, filters := f.(model.Filterer)
	_, smooths := f.(model.Smoother)
	return []string{
		way, boundOf(resolved.Config, m), mark(f != nil), uncertainty(f), mark(filters && f.Dims().NZ > 0), mark(smooths),
		mark(filters && f.Dims().M > 0), images(kinds, settings), mark(!slices.Equal(forecast(f, 0).Mean, forecast(f, 3).Mean)),
		mark(hidden), mark(recordings),
	}
}

// boundOf is what a validation reports beside the objective.
func boundOf(c config.Config, m model.Model) string {
	_, weighs := m.(model.Weighing)
	switch text := config.Describe(c).Bound; {
	case text == "":
		return "–"
	case strings.HasPrefix(text, "exact"):
		return "exact"
	case weighs:
		return "ELBO, weighted"
	}
	return "ELBO"
}

// uncertainty is what differs between the rollouts of a forecast.
func uncertainty(f model.Forecaster) string {
	a := forecast(f, 0)
	n := len(a.Mean)
	switch {
	case !slices.Equal(a.Paths[:n], a.Paths[n:2*n]):
		return "paths"
	case !slices.Equal(a.Draw, a.Mean):
		return "one step"
	}
	return "–"
}

// images says how binary images are modelled.
func images(kinds *config.Kinds, settings []string) string {
	resolved, err := kinds.Resolve(config.Sources{Preset: "ball/smoke", Arguments: append(slices.Clone(settings), "model.emission=bernoulli")})
	switch {
	case err != nil:
		return "–"
	case strings.Contains(string(resolved.Config.YAML()), "convolutions:"):
		return "convolutions"
	}
	return "✓"
}

// series is a batch of two sequences whose last value of the first is missing, and stands as hidden.
func series(steps int, hidden float32) model.Batch {
	var b model.Batch
	b.Resize(steps, 2, 2, 1)
	draws := rng.New(3, rng.Episode).At(0, 0, 0)
	draws.Normals(b.Observations)
	draws.Normals(b.Controls)
	b.Seen = slices.Repeat([]float32{1}, len(b.Observations))
	last := len(b.Observations) - 4
	b.Seen[last], b.Observations[last] = 0, hidden
	return b
}

// stir moves the parameters away from initial values at which nothing moves.
func stir(m model.Model) {
	draws := rng.New(5, rng.Init).At(0, 0, 0)
	for i := range m.Params().Values {
		m.Params().Values[i] += float32(0.2 * draws.Normal())
	}
	m.Params().Pack()
}

func loss(m model.Trainable, hidden float32) float32 {
	terms := make([]float32, len(m.Terms()))
	m.Loss(autodiff.NewInferenceTape(m.Params()), series(8, hidden), rng.New(1, rng.Noise).At(0, 0, 0), 0, terms)
	return terms[0]
}

// fitted fits two recordings of unequal length by a few sweeps and returns the terms of the last.
func fitted(t *testing.T, m model.Fitter, hidden float32) []float64 {
	t.Helper()
	var recordings []model.Batch
	for i, steps := range []int{12, 20} {
		both := series(steps, hidden)
		var one model.Batch
		one.Resize(steps, 1, 2, 1)
		one.Seen = make([]float32, 2*steps)
		for s := range steps {
			copy(one.Observations[2*s:2*s+2], both.Observations[4*s+2*i:])
			copy(one.Seen[2*s:2*s+2], both.Seen[4*s+2*i:])
			one.Controls[s] = both.Controls[2*s+i]
		}
		recordings = append(recordings, one)
	}
	chain, err := m.NewChain(recordings, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	terms := make([]float64, len(m.Terms()))
	for range 8 {
		if err := chain.Sweep(terms); err != nil {
			t.Fatal(err)
		}
	}
	size := 0
	for _, p := range m.Layout(recordings) {
		size += p.Size()
	}
	state := make([]float64, size)
	chain.State(state)
	if err := m.Install([][]float64{state}); err != nil {
		t.Fatal(err)
	}
	return terms
}

// forecast answers a query whose first control is the given one.
func forecast(f model.Forecaster, control float32) model.Forecast {
	q := model.Query{Prefix: series(6, 0), Horizon: 3, Samples: 2, Noise: rng.New(1, rng.Evaluation).At(0, 0, 0)}
	q.Prefix.Seen = nil
	q.Controls = slices.Repeat([]float32{control}, 3*2)
	var answer model.Forecast
	f.Forecast(&answer, q)
	return answer
}
