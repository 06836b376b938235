package gibbs

import (
	"errors"
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

func TestSettings_DescribeTheirKeys(t *testing.T) {
	for _, family := range []model.Family{RSLDS(), TrSLDS()} {
		settings := family.Settings()
		count := 0
		setting.Walk(settings, "model.", func(k setting.Key) {
			count++
			if err := k.Check(); err != nil {
				t.Errorf("%s: %v", family.Name, err)
			}
		}, func(setting.Section) {})
		if count != 23 {
			t.Errorf("%s has %d keys, want 23", family.Name, count)
		}
	}
}

func TestSettings_Defaults(t *testing.T) {
	for hierarchical, family := range map[bool]model.Family{false: RSLDS(), true: TrSLDS()} {
		s := family.Settings().(*Settings)
		if got, want := s.Config(2), DefaultConfig(hierarchical); got != want {
			t.Errorf("%s: configuration %+v, want %+v", family.Name, got, want)
		}
		if faults := s.Check(model.Setup{}); len(faults) != 0 {
			t.Errorf("%s: %v", family.Name, faults)
		}
	}
}

func TestSettings_CheckReportsWhatDoesNotFit(t *testing.T) {
	s := DefaultSettings(true)
	s.BurnIn = s.Sweeps
	if len(s.Check(model.Setup{})) != 1 {
		t.Error("a burn-in of all sweeps is no fault")
	}
	if _, err := s.New(model.Data{NX: 2}, rng.New(1, rng.Init)); !errors.Is(err, ErrSchedule) {
		t.Errorf("%v, want ErrSchedule", err)
	}
	s.BurnIn, s.Draws = s.Sweeps-1, 2
	if len(s.Check(model.Setup{})) != 1 {
		t.Error("more draws than sweeps is no fault")
	}
}

func TestModel_FitsABatch(t *testing.T) {
	var b model.Batch
	b.Resize(12, 2, 2, 1)
	s := testSource(8000)
	for i := range b.Observations {
		b.Observations[i] = float32(s.normal())
	}
	for i := range b.Controls {
		b.Controls[i] = float32(s.normal())
	}
	b.Seen = make([]float32, len(b.Observations))
	for i := range b.Seen {
		b.Seen[i] = 1
	}
	b.Seen[(3*2+1)*2+1] = 0 // step 3 of sequence 1, dimension 1
	recordings := FromBatch(b)
	for n, r := range recordings {
		for step := range 12 {
			for i := range 2 {
				want := float64(b.Observations[(step*2+n)*2+i])
				if step == 3 && n == 1 && i == 1 {
					want = math.NaN()
				}
				if got := r.Y[step*2+i]; got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
					t.Errorf("sequence %d, step %d, dimension %d: %v, want %v", n, step, i, got, want)
				}
			}
			if got, want := r.U[step], float64(b.Controls[step*2+n]); got != want {
				t.Errorf("sequence %d, step %d: control %v, want %v", n, step, got, want)
			}
		}
	}
	settings := DefaultSettings(false)
	settings.Sweeps, settings.BurnIn, settings.Draws = 6, 2, 2
	m, err := settings.New(model.Data{NX: 2, NU: 1}, rng.New(1, rng.Init))
	if err != nil {
		t.Fatal(err)
	}
	fit, err := m.(*Model).NewFit(recordings, 0)
	if err != nil {
		t.Fatal(err)
	}
	steps(t, fit, 3)
	if fit, err = m.(*Model).RestoreFit(recordings, 0, fit.State()); err != nil {
		t.Fatal(err)
	}
	steps(t, fit, 3)
	if !fit.Done() || fit.Posterior().Sweeps() != 4 {
		t.Errorf("%d sweeps kept, want 4", fit.Posterior().Sweeps())
	}
	if m.Params().Len() != 0 {
		t.Error("there are parameters to differentiate")
	}
}
