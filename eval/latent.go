package eval

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/model"
)

// activationBins is the number of bins of an activation curve, of equal width.
const activationBins = 40

// LatentPlane is the two dimensions of the latent state that correlate most with a rate. A point is the two
// coordinates of z and the true rate, in its own unit; there are 4·scatterPoints of them or more, if there are as
// many steps.
type LatentPlane struct {
	Rate         envs.Column
	Dimensions   [2]int     // of z, from 0
	Correlations [2]float64 // of Pearson, with sign
	Points       [][3]float64
}

// ActivationCurve is the mean of each mixing weight over a coordinate, by bins of equal width. Weights are those of
// one path of draws, as the switch mixes, not averages of several; those of a body follow those of the one before.
type ActivationCurve struct {
	Over string // what the coordinate is, with its unit
	// Middles of the bins, and how many steps fell into each.
	At     []float64
	Count  []int
	Mean   [][]float64 // [bin][M]; NaN in an empty bin
	Ratios []Estimate  // for each weight: its correlation ratio with the bins, 0 to 1
}

// LatentReport is the result of the protocol Latent.
type LatentReport struct {
	Task        Task
	Environment string
	M, Systems  int               // mixing weights, and the base systems that all bodies share
	Planes      []LatentPlane     // one for each rate
	Curves      []ActivationCurve // over the limited coordinates, and over the angle that turns
	Notes       []string
}

// Latent shows where rates lie in the latent state, and what the switch depends on: the two dimensions of the
// posterior mean of z_t that correlate most with each rate, and the mean weight of each base system over each
// limited coordinate and over the angle that turns (figure 6 of Becker-Ehmck et al. 2019). It returns ErrOptions
// or ErrDims, joined, before anything is computed.
func Latent(f model.Forecaster, env envs.Env, task Task) (LatentReport, error) {
	spec, probes := env.Spec(), probesOf(env)
	if err := task.validate(f.Dims(), spec); err != nil {
		return LatentReport{}, err
	}
	r := LatentReport{Task: task, Environment: spec.Name}
	test := task.test(env, task.Length)
	r.look(probes, &test, task.filter(f, test, noiseOfTest))
	return r, nil
}

// LatentMetrics is what Latent reports, before it is measured. The values mean nothing.
func LatentMetrics(f model.Forecaster, env envs.Env, task Task) []Metric {
	r := LatentReport{Task: task, Environment: env.Spec().Name}
	r.look(probesOf(env), &trials{}, unfiltered(f))
	return r.Report().Metrics
}

// look enters what a model infers about trials. Without a filter there is a note alone; without a switch there are
// planes alone.
func (r *LatentReport) look(probes envs.Probes, test *trials, hidden *filtered) {
	if hidden == nil {
		r.Notes = append(r.Notes, "This family of models infers no latent state.")
		return
	}
	for _, rate := range probes.Rates {
		r.Planes = append(r.Planes, latentPlane(rate, test, hidden))
	}
	if hidden.Systems < 2 {
		r.Notes = append(r.Notes, "This family of models has no switch to look at.")
		return
	}
	r.M, r.Systems = hidden.M, hidden.Systems
	for _, c := range probes.Limited {
		r.Curves = append(r.Curves, activation(c.Label(), -1, 1, test, hidden,
			func(x []float32) float64 { return float64(x[c.Index]) }))
	}
	// Turned are the columns of cos θ and sin θ.
	if a := probes.Turned; len(a) == 2 {
		r.Curves = append(r.Curves, activation("θ (rad)", -math.Pi, math.Pi, test, hidden, func(x []float32) float64 {
			return math.Atan2(float64(x[a[1]]), float64(x[a[0]]))
		}))
	}
}

// latentPlane ranks the dimensions of z by the modulus of their correlation with the rate, of equal ones the
// first, and keeps every n-th step as a point. A state of one dimension stands for both axes.
func latentPlane(rate envs.Column, d *trials, f *filtered) LatentPlane {
	correlations := make([]float64, f.NZ)
	for j := range correlations {
		correlations[j] = correlation(d, func(n, t int) (float64, float64) {
			return f.state(n, t)[j],
				float64(d.state(n, t)[rate.Index])
		})
	}
	order := make([]int, f.NZ)
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int { // NaN comes last
		return cmp.Compare(math.Abs(correlations[b]), math.Abs(correlations[a]))
	})
	p := LatentPlane{Rate: rate, Dimensions: [2]int{order[0], order[min(1, f.NZ-1)]}}
	p.Correlations = [2]float64{correlations[p.Dimensions[0]], correlations[p.Dimensions[1]]}
	// Points are thinned out evenly over all episodes.
	every, step := max(1, d.N*(d.T-probeFrom)/(4*scatterPoints)), 0
	for n := range d.N {
		for t := probeFrom; t < d.T; t++ {
			if step++; step%every == 0 {
				z := f.state(n, t)
				p.Points = append(p.Points, [3]float64{z[p.Dimensions[0]], z[p.Dimensions[1]], float64(d.state(n, t)[rate.Index])})
			}
		}
	}
	return p
}

// correlation is Pearson's, over the steps that probes look at; 0 where one of the two is constant, and NaN where one
// is not finite, so that such a dimension ranks last.
func correlation(d *trials, pair func(n, t int) (a, b float64)) float64 {
	var count, a1, b1, aa, bb, ab float64
	for n := range d.N {
		for t := probeFrom; t < d.T; t++ {
			a, b := pair(n, t)
			count++
			a1, b1, aa, bb, ab = a1+a, b1+b, aa+a*a, bb+b*b, ab+a*b
		}
	}
	va, vb := aa-a1*a1/count, bb-b1*b1/count
	if va <= 0 || vb <= 0 {
		return 0
	}
	return (ab - a1*b1/count) / math.Sqrt(va*vb)
}

// activation bins steps by a coordinate in [lo, hi]. A row of the tally holds the steps of each bin, then the
// weight of each system in each bin, then for each system its square. Coordinates outside [lo, hi] fall into the
// outer bins. Ratios are η = √(variance between bins / variance), 0 for a weight that is constant up to rounding.
func activation(over string, lo, hi float64, d *trials, f *filtered,
	coordinate func(x []float32) float64,
) ActivationCurve {
	const B = activationBins
	m := f.M
	sums := newTally(d.N, B+B*m+m)
	for n := range d.N {
		row := sums.row(n)
		for t := 1; t < d.T; t++ {
			bin := min(max(int((coordinate(d.at(n, t))-lo)/(hi-lo)*B), 0), B-1)
			row[bin]++
			for i, v := range f.sample[(n*d.T+t)*m:][:m] {
				row[B+bin*m+i] += v
				row[B+B*m+i] += v * v
			}
		}
	}
	c := ActivationCurve{Over: over}
	all := sums.total()
	for bin := range B {
		c.At = append(c.At, lo+(float64(bin)+0.5)*(hi-lo)/B)
		c.Count = append(c.Count, int(all[bin]))
		mean := make([]float64, m)
		for i := range mean {
			// 0/0 in an empty bin.
			mean[i] = all[B+bin*m+i] / all[bin]
		}
		c.Mean = append(c.Mean, mean)
	}
	for i := range m {
		c.Ratios = append(c.Ratios, sums.estimate(func(s []float64) float64 {
			var count, sum, between float64
			for bin := range B {
				if v := s[B+bin*m+i]; s[bin] > 0 {
					count, sum, between = count+s[bin], sum+v, between+v*v/s[bin]
				}
			}
			variance := s[B+B*m+i] - sum*sum/count
			if variance <= 1e-12*s[B+B*m+i] {
				return 0
			}
			return math.Sqrt(max(between-sum*sum/count, 0) / variance)
		}))
	}
	return c
}

// Table shows the correlations, and how much of the switch each coordinate explains.
func (r LatentReport) Table() Table {
	t := Table{
		Title: r.Environment + ", what the latent state and the switch show", Corner: "",
		Columns: []string{"value", "± SE"}, Decimals: 3,
	}
	for _, p := range r.Planes {
		for i, c := range p.Correlations {
			t.Rows = append(t.Rows, Row{
				fmt.Sprintf("correlation of z%d with %s", p.Dimensions[i]+1, p.Rate.Name),
				[]float64{c, math.NaN()},
			})
		}
	}
	for _, c := range r.Curves {
		best := largest([][]Estimate{c.Ratios})
		t.Rows = append(t.Rows, Row{"largest correlation ratio of a weight with " + c.Over, []float64{best.Value, best.SE}})
	}
	t.Notes = append([]string{fmt.Sprintf("%d test episodes that training never saw; z is the posterior mean given the "+
		"whole episode, weights are of one draw.", r.Task.Episodes)}, r.Notes...)
	return t
}

// CurveTable holds the points of every activation curve. Curves and systems are counted from 1, bins from 0.
func (r LatentReport) CurveTable() Table {
	t := Table{Corner: "bin", Columns: []string{"curve", "at", "steps"}, Decimals: 6}
	for i := range r.M {
		t.Columns = append(t.Columns, "weight_"+strconv.Itoa(i+1))
	}
	for k, c := range r.Curves {
		for bin, at := range c.At {
			t.Rows = append(t.Rows, Row{strconv.Itoa(bin), append([]float64{float64(k + 1), at, float64(c.Count[bin])},
				c.Mean[bin]...)})
		}
	}
	return t
}

// PointTable holds the points of every plane. Planes and points are counted from 1.
func (r LatentReport) PointTable() Table {
	t := Table{Corner: "point", Columns: []string{"plane", "first z", "second z", "rate"}, Decimals: 6}
	for k, p := range r.Planes {
		for i, at := range p.Points {
			t.Rows = append(t.Rows, Row{strconv.Itoa(i + 1), append([]float64{float64(k + 1)}, at[:]...)})
		}
	}
	return t
}

// Report returns the figures in the form that scripts read. Correlations keep their signs; a correlation ratio is
// the largest over the systems.
func (r LatentReport) Report() Report {
	out := Report{Protocol: "latent", Metrics: []Metric{count("episodes", r.Task.Episodes), count("systems", r.Systems)}}
	var rates, over []string
	var first, second []float64
	var ratios []Estimate
	for _, p := range r.Planes {
		rates = append(rates, p.Rate.Name)
		first, second = append(first, p.Correlations[0]), append(second, p.Correlations[1])
	}
	for _, c := range r.Curves {
		over, ratios = append(over, c.Over), append(ratios, largest([][]Estimate{c.Ratios}))
	}
	out.Metrics = append(out.Metrics, object("largest_correlation", "velocity", rates, first),
		object("second_correlation", "velocity", rates, second))
	out.Metrics = append(out.Metrics, estimated(object("correlation_ratio", "coordinate", over, nil), ratios...)...)
	return out
}
