package config

// Usual is what training by a preset usually ends with: a number of the evaluation that follows it, over several seeds.
// The numbers are measurements, the pages of docs/results.
type Usual struct {
	Preset string
	Number string // its name in the evaluation
	// Over the seeds: the number of a usual run, and of the worst one.
	Median float64
	Worst  float64
	Seeds  int
}

// usual are the measured results, at most one number for each preset: the one that tells a failed run best.
func usual() []Usual {
	return []Usual{
		{"ball/quick", "error/15", .0248, .0258, 20},
		{"bounce", "accuracy", 1, .999, 20},
		{"fhn", "r2_final", .976, .950, 20},
		{"lorenz", "accuracy", .914, .903, 20},
		{"maze", "ratio_to_static/10", .0359, .0426, 20},
		{"maze/bodies", "ratio_to_static/10", .0072, .0095, 20},
		{"modes", "accuracy", .989, .988, 20},
		{"nascar", "accuracy", 1, .9997, 20},
		{"reacher", "ratio_to_static/10", .0070, .0106, 20},
		{"sticky", "accuracy", .998, .996, 20},
	}
}

// Usual is what runs of this configuration usually end with. ok is false if it is not that of a preset, apart from
// the seed and from what changes no result, or if nothing was measured. As many steps count as part of it.
func (c Config) Usual() (u Usual, ok bool) {
	for _, u := range usual() {
		if u.Preset != c.Preset {
			continue
		}
		preset, err := Builtin().Kinds().Resolve(Sources{Preset: c.Preset})
		if err != nil {
			return Usual{}, false
		}
		// Seeds differ between the runs that were measured, too.
		same := preset.Config
		same.Seed = c.Seed
		return u, same.Identity() == c.Identity() && same.Train.Steps == c.Train.Steps
	}
	return Usual{}, false
}

// failed is how many times the median distance from the best value marks a run that failed. Distances of a share below
// negligible are all alike.
const (
	failed     = 3
	negligible = .01
)

// Judge says how a value compares with what is usual, and whether that is a run that failed. The best value of an
// error is 0, and 1 of a share explained; which of both the number is follows from Median and Worst. NaN is a
// failure.
func (u Usual) Judge(value float64) (verdict string, fails bool) {
	best := 0.0
	if u.Median > u.Worst { // larger is better
		best = 1
	}
	distance := func(v float64) float64 {
		if best == 1 {
			return max(best-v, negligible)
		}
		return v
	}
	switch d := distance(value); {
	case !(d <= failed*distance(u.Median)):
		return "the run has failed", true
	case d > distance(u.Worst):
		return "worse than every seed before", false
	}
	return "as usual", false
}
