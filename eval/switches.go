package eval

import (
	"math"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/model"
)

// MapBins is the number of bins of a map, per side, over the square [−1, 1]².
const MapBins = 64

// SwitchMap is where in the plane a body was, and the mean mixing weights there. It covers the square [−1, 1]²,
// bins of equal size.
type SwitchMap struct {
	Body  int       // from 0
	Count []int     // [MapBins·MapBins] steps in each bin, rows of y from −1 on
	Mean  []float64 // [MapBins·MapBins,M] mean weights; NaN in an empty bin
}

// SwitchReport is the result of the protocol Switches. Lists by contact are in the order of Contacts, lists by
// system in that of the model.
type SwitchReport struct {
	Task        Task
	Environment string
	// Mixing weights of the model, those of a body after those of the one before; 0 where there is nothing to look at.
	M int
	// Base systems, which all bodies share: M of a model without bodies.
	Systems int
	// Perplexity is exp of the entropy of the mean weights: how many base systems are in use, 1 to Systems.
	Perplexity Estimate
	Share      []Estimate // mean weight of each base system over all bodies, of a sum of 1
	Contacts   []string
	// Information about each of the contacts, over the entropy of the contact, 0 to 1: what the weights of a step
	// hold, at least, by a tree that tells the contact's probability from them; and what is known of a step by
	// which system acts, drawn by its weight. With several bodies it is that of the body whose
	// system tells most, a lower bound of what all of them tell together: systems of the bodies that do not touch
	// anything say little of a contact, and a mean over bodies, or systems without whose they are, would fall with
	// the number of bodies.
	Information, InformationOfSystem []Estimate
	Walls                            *WallRatios // nil: the environment has no walls in the plane
	Maps                             []SwitchMap // one for each body; none where nothing moves in the plane
	Notes                            []string
}

// WallRatios are correlation ratios η of a base system's weight with a body being near a wall: the root of the
// share of the weight's variance that lies between the two groups of steps.
type WallRatios struct {
	Reach                float64      // within how much of a wall's face a centre counts as near: radius and mean step
	Vertical, Horizontal [][]Estimate // [body][M]
	// The largest over bodies and weights.
	LargestVertical, LargestHorizontal Estimate
}

// walled is an Env whose bodies move among walls in the square [−1, 1]².
type walled interface {
	NearWalls(x, y, reach float64) (vertical, horizontal bool)
	Radius() float64
}

// Switches measures what the mixing weights are used for: how many base systems share the work, what the weights know
// of contacts, and, in the plane, where each system acts and how that follows the walls. Weights are those of a draw
// from the posterior given the whole episode. It returns ErrOptions or ErrDims, joined, before anything is computed.
func Switches(f model.Forecaster, env envs.Env, task Task) (SwitchReport, error) {
	spec := env.Spec()
	if err := task.validate(f.Dims(), spec); err != nil {
		return SwitchReport{}, err
	}
	r := SwitchReport{Task: task, Environment: spec.Name}
	test := task.test(env, task.Length)
	r.look(env, &test, task.filter(f, test, noiseOfTest))
	return r, nil
}

// SwitchMetrics is what Switches reports, before it is measured. The values mean nothing.
func SwitchMetrics(f model.Forecaster, env envs.Env, task Task) []Metric {
	r := SwitchReport{Task: task, Environment: env.Spec().Name}
	r.look(env, &trials{}, unfiltered(f))
	return r.Report().Metrics
}

// look enters what a model infers about trials. A model with fewer than two base systems gets a note alone.
func (r *SwitchReport) look(env envs.Env, test *trials, hidden *filtered) {
	if hidden == nil || hidden.Systems < 2 {
		r.Notes = append(r.Notes, "This family of models has no switch to look at.")
		return
	}
	r.M, r.Systems = hidden.M, hidden.Systems
	probes := probesOf(env)
	weights := shares(hidden.sample, r.Systems)
	labels := r.use(weights, test, env.Spec(), probes.Contacts)
	// The weights themselves, not their shares: a tree may use what a sum of 1 would hide.
	for _, y := range labels {
		r.Information = append(r.Information, informationBound(hidden.sample, y, hidden.M, test.N, test.T))
	}
	for b, at := range probes.Bodies {
		r.Maps = append(r.Maps, switchMap(b, at, test, hidden.sample, hidden.M))
	}
	if w, ok := env.(walled); ok && len(probes.Bodies) > 0 {
		r.Walls = wallRatios(w, probes.Bodies, test, hidden.sample, hidden.M)
	}
}

// shares scales the weights of each switch at each step to a sum of 1, as those of sigmoids have not; steps without
// weight, as the first of a trial, stay zero. w is [steps,switches,m] and stays as it is.
func shares(w []float64, m int) []float64 {
	scaled := make([]float64, len(w))
	for i := 0; i < len(w); i += m {
		sum := 0.0
		for _, v := range w[i : i+m] {
			sum += v
		}
		if sum != 0 { // NaN too: what is not finite is no share
			for j, v := range w[i : i+m] {
				scaled[i+j] = v / sum
			}
		}
	}
	return scaled
}

// use measures perplexity and what the systems say of contacts, and returns at which steps [N,T] each contact holds. A
// row of the tally holds, for each contact, the sum of each of the M weights over steps with the contact; then that of
// each weight over all steps.
func (r *SwitchReport) use(weights []float64, d *trials, spec envs.Spec, contacts []int) [][]bool {
	m := r.M
	var labels [][]bool
	r.Contacts, labels = contactLabels(d, spec, contacts)
	sums := newTally(d.N, (len(labels)+1)*m)
	for n := range d.N {
		row := sums.row(n)
		for t := 1; t < d.T; t++ {
			w := weights[(n*d.T+t)*m:][:m]
			for c := range len(labels) + 1 {
				if c == len(labels) || labels[c][n*d.T+t] {
					for i, v := range w {
						row[c*m+i] += v
					}
				}
			}
		}
	}
	// Behind the weights at each contact stand those at all steps.
	all := len(r.Contacts) * m
	r.Perplexity = sums.estimate(func(s []float64) float64 { return InUse(bySystem(s[all:], r.Systems)) })
	for i := range r.Systems {
		r.Share = append(r.Share, sums.estimate(func(s []float64) float64 {
			return bySystem(s[all:], r.Systems)[i] / sum(s[all:])
		}))
	}
	for c := range r.Contacts {
		r.InformationOfSystem = append(r.InformationOfSystem, sums.estimate(func(s []float64) float64 {
			most := math.Inf(-1)
			for i := 0; i < m; i += r.Systems {
				most = max(most, information(s[c*m+i:][:r.Systems], s[all+i:][:r.Systems]))
			}
			return most
		}))
	}
	return labels
}

// bySystem adds up the weights [bodies,systems] of each base system over the bodies.
func bySystem(weights []float64, systems int) []float64 {
	folded := make([]float64, systems)
	for i, v := range weights {
		folded[i%systems] += v
	}
	return folded
}

// The tree that bounds the information of weights, and the least probability that it may say.
const (
	boundDepth, boundLeaf = 8, 20
	leastProbability      = 1e-3
)

// informationBound is 1 − H(c | tree) / H(c), with the cross-entropy H(c | tree) of a tree that is fitted on four
// fifths of the trials and scored on the others: a lower bound on I(weights; contact) / H(contact) (Barber and Agakov
// 2003), 0 at least. Probabilities are kept leastProbability away from 0 and 1, so that one surprise does not
// outweigh all else. It is NaN with fewer than contactHoldout trials, where all scored steps are the same, or if a
// weight is NaN, which a tree would take for something.
func informationBound(x []float64, y []bool, m, trials, steps int) Estimate {
	fitted := trials - trials/contactHoldout
	if fitted == trials || anyNaN(x, m, steps, trials) {
		return Estimate{math.NaN(), math.NaN()}
	}
	tree := growTree(switched(nil, x, m, steps, 0, fitted), switched(nil, y, 1, steps, 0, fitted), m, boundDepth,
		boundLeaf)
	sums := newTally(trials-fitted, 3) // steps, steps with the contact, nats
	for n := range sums.n {
		row := sums.row(n)
		for t := 1; t < steps; t++ {
			i := (fitted+n)*steps + t
			p := min(max(tree.probability(x[i*m:(i+1)*m]), leastProbability), 1-leastProbability)
			row[0]++
			if y[i] {
				row[1]++
				row[2] -= math.Log(p)
			} else {
				row[2] -= math.Log1p(-p)
			}
		}
	}
	return sums.estimate(func(s []float64) float64 {
		h := entropy([]float64{s[1], s[0] - s[1]})
		if h == 0 {
			return math.NaN()
		}
		return max(1-s[2]/s[0]/h, 0)
	})
}

// entropy of weights that need not sum to 1, in nats. It is 0 of nothing, and NaN if a weight is.
func entropy(w []float64) float64 {
	h, all := 0.0, sum(w)
	if math.IsNaN(all) {
		return all
	}
	for _, v := range w {
		if v > 0 {
			h -= v / all * math.Log(v/all)
		}
	}
	return h
}

// information is I(system; contact) / H(contact), from the weight of each system at steps with the contact and at all
// steps. It is NaN where the contact never or always holds.
func information(with, all []float64) float64 {
	steps := sum(all)
	contact := entropy([]float64{sum(with), steps - sum(with)})
	if contact == 0 {
		return math.NaN()
	}
	left := 0.0 // H(contact | system)
	for i, v := range all {
		if v > 0 {
			left += v / steps * entropy([]float64{with[i], max(v-with[i], 0)})
		}
	}
	return 1 - left/contact
}

// switchMap averages the weights of each system over the steps in each bin. at are the columns of x and y of the
// body; a body outside the square counts in the outer bins.
func switchMap(body int, at [2]int, d *trials, weights []float64, m int) SwitchMap {
	s := SwitchMap{Body: body, Count: make([]int, MapBins*MapBins), Mean: make([]float64, MapBins*MapBins*m)}
	for n := range d.N {
		for t := 1; t < d.T; t++ {
			x := d.at(n, t)
			bin := binOf(x[at[1]])*MapBins + binOf(x[at[0]])
			s.Count[bin]++
			for i, v := range weights[(n*d.T+t)*m:][:m] {
				s.Mean[bin*m+i] += v
			}
		}
	}
	for bin, n := range s.Count {
		for i := range m {
			s.Mean[bin*m+i] /= float64(n) // 0/0: nobody was there
		}
	}
	return s
}

// binOf is the bin of a coordinate in [−1, 1].
func binOf(x float32) int { return min(max(int((float64(x)+1)/2*MapBins), 0), MapBins-1) }

// meanStep is how far bodies move in a step, on average. bodies are their columns of x and y.
func meanStep(bodies [][2]int, d *trials) float64 {
	sum := 0.0
	for n := range d.N {
		for t := 1; t < d.T; t++ {
			a, b := d.at(n, t-1), d.at(n, t)
			for _, c := range bodies {
				sum += math.Hypot(float64(b[c[0]]-a[c[0]]), float64(b[c[1]]-a[c[1]]))
			}
		}
	}
	return sum / float64(d.N*(d.T-1)*len(bodies))
}

// wallRatios enters, for each body, kind of wall and weight, the steps near a wall, the weight there, and the weight
// and its square at all steps; the first element counts steps. Vertical is kind 0, horizontal kind 1.
func wallRatios(env walled, bodies [][2]int, d *trials, weights []float64, m int) *WallRatios {
	r := &WallRatios{Reach: env.Radius() + meanStep(bodies, d)}
	// The first place of a body and a kind of wall in a row: the steps near it, then the weight of each system
	// there.
	near := func(body, kind int) int { return 1 + 2*m + (2*body+kind)*(1+m) }
	sums := newTally(d.N, near(len(bodies), 0))
	for n := range d.N {
		row := sums.row(n)
		for t := 1; t < d.T; t++ {
			w := weights[(n*d.T+t)*m:][:m]
			row[0]++
			for i, v := range w {
				row[1+i] += v
				row[1+m+i] += v * v
			}
			for b, c := range bodies {
				vertical, horizontal := env.NearWalls(float64(d.at(n, t)[c[0]]), float64(d.at(n, t)[c[1]]), r.Reach)
				for kind, is := range []bool{vertical, horizontal} {
					if is {
						row[near(b, kind)]++
						for i, v := range w {
							row[near(b, kind)+1+i] += v
						}
					}
				}
			}
		}
	}
	eta := func(s []float64, b, kind, i int) float64 {
		at := near(b, kind)
		return correlationRatio(s[0], s[1+i], s[1+m+i], s[at], s[at+1+i])
	}
	for b := range bodies {
		var ratios [2][]Estimate
		for kind := range ratios {
			for i := range m {
				ratios[kind] = append(ratios[kind], sums.estimate(func(s []float64) float64 { return eta(s, b, kind, i) }))
			}
		}
		r.Vertical, r.Horizontal = append(r.Vertical, ratios[0]), append(r.Horizontal, ratios[1])
	}
	r.LargestVertical, r.LargestHorizontal = largest(r.Vertical), largest(r.Horizontal)
	return r
}

// correlationRatio is η of a weight with membership in a group: n steps with sums of the weight and its square, of
// which some are in the group, with their sum.
//
//	η² = (n_in (w̄_in − w̄)² + n_out (w̄_out − w̄)²) / (n · var w)
//
// It is 0 where the group is empty or everything, or the weight is constant up to rounding.
func correlationRatio(n, sum, squares, inside, sumInside float64) float64 {
	variance := squares/n - (sum/n)*(sum/n)
	if inside == 0 || inside == n || variance <= 1e-12*squares/n {
		return 0
	}
	a, b := sumInside/inside-sum/n, (sum-sumInside)/(n-inside)-sum/n
	return math.Sqrt((inside*a*a + (n-inside)*b*b) / n / variance)
}

// largest is the greatest estimate of a table, the first of equal ones. It is NaN if one of them is, and −1 of an
// empty table.
func largest(ratios [][]Estimate) Estimate {
	best := Estimate{Value: -1}
	for _, row := range ratios {
		for _, e := range row {
			if e.Value > best.Value || math.IsNaN(e.Value) {
				best = e
			}
		}
	}
	return best
}
