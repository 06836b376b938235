package trained

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/figure"
	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/rng"
)

// Portrait is what a page draws of a trained model: what it makes of one series that training did not see. What the
// model cannot do is left out. A page reads it as JSON.
type Portrait struct {
	Step     uint64      `json:"step"`
	Family   string      `json:"family"`
	Series   string      `json:"series"`
	Channels []string    `json:"channels"`
	Fan      *Fan        `json:"fan,omitempty"`
	Diverges string      `json:"diverges,omitempty"` // in words; the forecast, which then has no fan and no strip
	Raster   [][]float64 `json:"raster,omitempty"`   // probability of each regime at each step
	Systems  [][]Mode    `json:"systems,omitempty"`  // eigenvalues of the base systems, by regime
	Colours  []string    `json:"colours,omitempty"`  // of the regimes, as on figures
	States   *States     `json:"portrait,omitempty"`
	Strip    *Strip      `json:"strip,omitempty"`
}

// Fan is a forecast from step Begin on, beside the series; nil stands for what is missing. Series is
// [step][channel] of all that is shown, the others [step of the forecast][channel].
type Fan struct {
	// The first step of the series that is forecast.
	Begin     int             `json:"begin"`
	Shown     []int           `json:"shown"` // channels
	Series    [][]eval.Number `json:"series"`
	Mean      [][]eval.Number `json:"mean"`
	Low       [][]eval.Number `json:"low"` // of nine tenths
	High      [][]eval.Number `json:"high"`
	InnerLow  [][]eval.Number `json:"inner_low"` // of a half
	InnerHigh [][]eval.Number `json:"inner_high"`
}

// Mode is an eigenvalue of the matrix A of a base system, in the complex plane.
type Mode struct {
	Re float64 `json:"re"`
	Im float64 `json:"im"`
}

// States are the filtered latent states along their two main directions. Regime is nil where the family has none.
type States struct {
	X      []float64 `json:"x"`
	Y      []float64 `json:"y"`
	Regime []int     `json:"regime,omitempty"`
	Share  float64   `json:"share"` // of the variance
}

// Strip is some images of the series and of the forecast, values from 0 to 1: Truth[i] and Mean[i] are those of
// step Steps[i], row by row, the channels of a pixel side by side.
type Strip struct {
	Shape [3]int      `json:"shape"` // height, width, channels
	Begin int         `json:"begin"`
	Steps []int       `json:"steps"`
	Truth [][]float64 `json:"truth"`
	Mean  [][]float64 `json:"mean"`
}

const (
	// The sizes of the answer: steps of the series, channels of the fan, images of the strip, and paths of the
	// forecast.
	portraitSteps    = 400 // at most so many steps of the series, the last ones
	portraitChannels = 3
	portraitImages   = 16
	portraitSamples  = 64
)

// Portrait asks the run about a series that it was not trained on: a forecast of its last steps from those before,
// and what all of it says of regimes and states. Seeds are fixed, so that the same checkpoint gives the same
// portrait. ErrUnable is no error here, nor is ErrDiverged: what else is known of such a model says why.
func (r *Run) Portrait() (*Portrait, error) {
	of, c, image, err := r.unseen()
	if err != nil {
		return nil, err
	}
	T := min(len(of.Observations), portraitSteps)
	begin := len(of.Observations) - T // what is held out is at the end
	series := Series{Observations: of.Observations[begin:], Of: of.Of}
	if of.Controls != nil {
		series.Controls = of.Controls[begin:]
	}
	p := &Portrait{Step: r.Step(), Family: r.Family(), Series: of.Name, Channels: c.Observations}
	// What the family cannot do is left out.
	able := func(err error) error {
		if errors.Is(err, ErrUnable) {
			return nil
		}
		return err
	}
	horizon := min(r.Horizon(), T/2)
	if horizon < 1 {
		return p, nil
	}
	var regime []int
	segments, err := r.Segment(series, 0)
	if err == nil && image[0] == 0 {
		p.Raster, regime = segments.Probability, segments.Regime
	}
	// Systems are numbered as the regimes of the raster are.
	systems, systemsErr := r.Systems(c.DT)
	for _, s := range inOrder(segments.System, systems) {
		list := []Mode{}
		for _, m := range s.Modes {
			list = append(list, Mode{m.Real, m.Imaginary})
		}
		p.Systems = append(p.Systems, list)
	}
	regimes := len(p.Systems)
	if len(segments.Probability) > 0 {
		regimes = len(segments.Probability[0])
	}
	p.Colours = figure.Colours(regimes)
	filtered, filterErr := r.Filter(series, 0)
	if filterErr == nil {
		p.States = mainDirections(filtered.Mean, regime)
	}
	forecastErr := p.forecast(r, series, horizon, image)
	if errors.Is(forecastErr, ErrDiverged) {
		p.Diverges, forecastErr = forecastErr.Error(), nil
	}
	return p, errors.Join(able(err), able(systemsErr), able(filterErr), able(forecastErr))
}

// heldOut is a recording that is held out; if it is the end of one that was split by time, with what is before it.
// The test part is preferred to the validation part, and the last of several. If nothing is held out it is a
// training recording, and its name says so.
func heldOut(list []Recording) Recording {
	at := 0
	for i, r := range list {
		if r.Part == files.Test || r.Part == files.Validation && list[at].Part != files.Test {
			at = i
		}
	}
	chosen := list[at]
	whole := Join(list[:at+1])
	joined := whole[len(whole)-1]
	switch {
	case chosen.Part == files.Training:
		chosen.Name = "training data, since nothing is held out"
	case len(joined.Observations) > len(chosen.Observations):
		joined.Name = fmt.Sprintf("%s, of which the last %d steps are held out", filepath.Base(joined.Name),
			len(chosen.Observations))
		return joined
	default:
		chosen.Name = "held-out " + filepath.Base(chosen.Name)
	}
	return chosen
}

// unseen is a series that the run was not trained on, a held-out recording or an episode that is simulated anew, with
// height, width and channels of its images, or zeros.
func (r *Run) unseen() (Recording, Columns, [3]int, error) {
	if r.env == nil {
		list, columns, err := r.Recordings()
		if err != nil {
			return Recording{}, columns, [3]int{}, err
		}
		return heldOut(list), columns, [3]int{}, nil
	}
	c := r.config
	// Another stream than that of the training episodes, which begin at the seed of the run.
	d, err := files.Generate(r.env, rng.New(c.Seed, rng.Evaluation), 1, max(c.Env.Length, 2*c.Eval.Horizon))
	if err != nil {
		return Recording{}, Columns{}, [3]int{}, fmt.Errorf("simulate an episode: %w", err)
	}
	list, columns := RecordingsOf(d)
	list[0].Name = "an episode of " + c.Env.Kind + " simulated for this page"
	return list[0], columns, d.Image, nil
}

// forecast predicts the end of the series from what is before it. Of images it makes a strip, of other series a
// fan with the quantiles of 5, 25, 75 and 95 %.
func (p *Portrait) forecast(run *Run, s Series, horizon int, image [3]int) error {
	T := len(s.Observations)
	begin := T - horizon
	past, q := Series{Observations: s.Observations[:begin], Of: s.Of}, Query{Horizon: horizon, Samples: portraitSamples}
	if s.Controls != nil {
		past.Controls, q.Controls = s.Controls[:begin], s.Controls[begin:]
	}
	f, err := run.Forecast(past, q)
	if err != nil {
		return err
	}
	if image[0] > 0 {
		p.Strip = strip(s.Observations, f.Mean, begin, image)
		return nil
	}
	p.Fan = &Fan{
		Begin: begin, Series: eval.NumberRows(s.Observations), Mean: eval.NumberRows(f.Mean),
		Low:      eval.NumberRows(f.Quantile(0.05)),
		High:     eval.NumberRows(f.Quantile(0.95)),
		InnerLow: eval.NumberRows(f.Quantile(0.25)), InnerHigh: eval.NumberRows(f.Quantile(0.75)),
	}
	for i := range min(len(s.Observations[0]), portraitChannels) {
		p.Fan.Shown = append(p.Fan.Shown, i)
	}
	return nil
}

// strip picks up to portraitImages steps of the forecast, evenly spread, with the truth beside them.
func strip(truth, mean [][]float64, begin int, image [3]int) *Strip {
	s := &Strip{Shape: image, Begin: begin}
	for i := range min(portraitImages, len(mean)) {
		k := i * len(mean) / min(portraitImages, len(mean))
		s.Steps, s.Truth, s.Mean = append(s.Steps, begin+k), append(s.Truth, truth[begin+k]), append(s.Mean, mean[k])
	}
	return s
}

// mainDirections projects states on the two eigenvectors of their covariance that have the greatest eigenvalues. It is
// nil for fewer than two steps, or states that are not finite. Share is how much of the variance these two have.
func mainDirections(states [][]float64, regime []int) *States {
	T := len(states)
	if T < 2 || len(states[0]) == 0 {
		return nil
	}
	n := len(states[0])
	mean := make([]float64, n)
	for _, z := range states {
		for i, v := range z {
			if !eval.Finite(v) {
				return nil
			}
			mean[i] += v / float64(T)
		}
	}
	covariance, rest := make([]float64, n*n), make([]float64, n)
	for _, z := range states {
		for i, v := range z {
			rest[i] = v - mean[i]
		}
		matrix.AddOuter(covariance, 1, rest)
	}
	matrix.Mirror(covariance, n)
	values, vectors := matrix.Eigen(covariance, n)
	s := &States{X: make([]float64, T), Y: make([]float64, T), Regime: regime}
	kept, total := 0.0, 0.0
	for k, along := range [][]float64{s.X, s.Y}[:min(2, n)] {
		axis := vectors[k*n:][:n]
		sign := math.Copysign(1, axis[0]) // so that the picture does not turn round from checkpoint to checkpoint
		for t, z := range states {
			along[t] = sign * (matrix.Dot(z, axis) - matrix.Dot(mean, axis))
		}
		kept += values[k]
	}
	for _, v := range values {
		total += v
	}
	if total > 0 {
		s.Share = kept / total
	}
	return s
}
