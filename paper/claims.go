package paper

import (
	"fmt"
	"math"
	"strings"

	"github.com/switchyard-ml/switchyard/eval"
)

// Claim is a statement of the paper that results can support or contradict. judge reads the results alone.
type Claim struct {
	ID    string // for scripts
	Part  Part
	Text  string
	judge func(r *Results) Verdict
}

// Claims lists the claims of the paper, in its order.
func Claims() []Claim {
	list := append(table1Claims(), probeClaims()...)
	return append(append(append(list, fhnClaims()...), ballClaims()...), dtClaims()...)
}

// table1Claims are about prediction errors over that of Static, at horizons of table 1.
func table1Claims() []Claim {
	return []Claim{
		{
			"best-maze", Table1, "Maze: Normal predicts best, 1, 5 and 10 steps ahead.",
			func(r *Results) Verdict { return r.best("maze") },
		},
		{
			"best-reacher", Table1, "Reacher: Normal predicts best, 1, 5 and 10 steps ahead.",
			func(r *Results) Verdict { return r.best("reacher") },
		},
		{"order-maze", Table1, "Maze: Normal below Concrete below Fusion below DVBF below LSTM below Static, 5 and 10 " +
			"steps ahead.", func(r *Results) Verdict {
			return r.order("maze", []string{"normal", "concrete", "fusion", "dvbf", "lstm", "static"}, []int{5, 10})
		}},
		{"order-reacher", Table1, "Reacher: Normal below Fusion below Concrete below DVBF below LSTM below Static, 5 and " +
			"10 steps ahead.", func(r *Results) Verdict {
			return r.order("reacher", []string{"normal", "fusion", "concrete", "dvbf", "lstm", "static"}, []int{5, 10})
		}},
		{"switch-maze", Table1, "Maze: the error of Normal is about 0.27 of that of Fusion, 5 and 10 steps ahead (within " +
			"a factor of 1.5).", func(r *Results) Verdict {
			return r.share("maze", 0.27)
		}},
		{"switch-reacher", Table1, "Reacher: the error of Normal is about 0.6 of that of Fusion, 5 and 10 steps ahead " +
			"(within a factor of 1.5).", func(r *Results) Verdict {
			return r.share("reacher", 0.6)
		}},
		{
			"tenth", Table1, "Normal and Fusion have less than a tenth of the error of Static 10 steps ahead.",
			func(r *Results) Verdict {
				v := Verdict{Judgement: Holds}
				for _, env := range []string{"maze", "reacher"} {
					for _, key := range []string{"normal", "fusion"} {
						values := negative(r.values(r.group(Table1, env, key), "table1", "ratio_to_static/10"))
						v = v.and(Verdict{atLeast(values, -0.1), fmt.Sprintf("%s %s %s", env, key, spreadOf(negative(values)))})
					}
				}
				return v
			},
		},
	}
}

// negative turns "at most" into "at least".
func negative(values []float64) []float64 {
	var list []float64
	for _, v := range values {
		list = append(list, -v)
	}
	return list
}

// best judges whether Normal is below every other row of the paper's table 1; the detail names the next. Rows that the
// paper does not have decide nothing.
func (r *Results) best(env string) Verdict {
	v := Verdict{Judgement: Holds}
	for _, k := range eval.Table1Horizons() {
		ratios := func(key string) []float64 {
			return r.values(r.group(Table1, env, key), "table1", eval.Name("ratio_to_static", k))
		}
		normal := ratios("normal")
		next, least := "", spread{}
		for _, row := range eval.Paper("table1", env) {
			if row.Key == "normal" {
				continue
			}
			other := ratios(row.Key)
			v.Judgement = v.both(below(normal, other))
			if s := spreadOf(other); least.n == 0 || s.mean < least.mean {
				next, least = row.Name, s
			}
		}
		v = v.and(Verdict{v.Judgement, fmt.Sprintf("k = %d: Normal %s, the best other %s %s", k, spreadOf(normal), next,
			least)})
	}
	return v
}

// order judges whether the ratios of models to Static ascend.
func (r *Results) order(env string, keys []string, horizons []int) Verdict {
	v := Verdict{Judgement: Holds}
	for _, k := range horizons {
		var parts []string
		for i, key := range keys {
			values := r.values(r.group(Table1, env, key), "table1", eval.Name("ratio_to_static", k))
			parts = append(parts, key+" "+spreadOf(values).String())
			if i > 0 {
				before := r.values(r.group(Table1, env, keys[i-1]), "table1", eval.Name("ratio_to_static", k))
				v.Judgement = v.both(below(before, values))
			}
		}
		v = v.and(Verdict{v.Judgement, fmt.Sprintf("k = %d: %s", k, strings.Join(parts, ", "))})
	}
	return v
}

// share judges whether the error of Normal is a share of that of Fusion, within a factor of 1.5. It is
// |ln(Normal/Fusion/want)| ≤ ln 1.5 for every seed that both have.
func (r *Results) share(env string, want float64) Verdict {
	v := Verdict{Judgement: Holds}
	for _, k := range []int{5, 10} {
		normal, fusion := r.pairs(r.group(Table1, env, "normal"), r.group(Table1, env, "fusion"), "table1",
			eval.Name("ratio_to_static", k))
		var logs []float64
		for i := range normal {
			logs = append(logs, -math.Abs(math.Log(normal[i]/fusion[i]/want)))
		}
		ratio := spreadOf(normal).mean / spreadOf(fusion).mean
		v = v.and(Verdict{atLeast(logs, -math.Log(1.5)), fmt.Sprintf("k = %d: %s%s", k, short(ratio),
			spreadOf(normal).lost())})
	}
	return v
}

// reaches judges whether a metric of a group reaches a limit.
func (r *Results) reaches(part Part, env, key, protocol, metric string, limit float64) Verdict {
	values := r.values(r.group(part, env, key), protocol, metric)
	return Verdict{atLeast(values, limit), fmt.Sprintf("%s %s", key, spreadOf(values))}
}

// stated are the values of models that the paper does not have, which decide nothing.
func (r *Results) stated(env, protocol, metric string, keys ...string) Verdict {
	var list []string
	for _, key := range keys {
		if values := r.values(r.group(Table1, env, key), protocol, metric); len(values) > 0 {
			list = append(list, fmt.Sprintf("%s %s", key, spreadOf(values)))
		}
	}
	return Verdict{Holds, strings.Join(list, ", ")}
}

// probeClaims are about what states and switches hold, by the protocols velocity, contact, switches and latent.
func probeClaims() []Claim {
	return []Claim{
		{
			"velocity", Table1, "Maze: velocities can be read linearly out of z with R² 0.92 (at least 0.90).",
			func(r *Results) Verdict {
				return r.reaches(Table1, "maze", "normal", "velocity", "r2_z/mean", 0.90)
			},
		},
		{
			"wall", Table1, "Maze: a tree tells contacts with walls from the switch with F1 0.46, which is above chance.",
			func(r *Results) Verdict {
				concrete := r.group(Table1, "maze", "concrete")
				f1, chance := r.values(concrete, "contact", "f1_tree/mean"), r.values(concrete, "contact", "chance/mean")
				v := r.reaches(Table1, "maze", "concrete", "contact", "f1_tree/mean", 0.46)
				v = v.and(r.stated("maze", "contact", "f1_tree/mean", "deterministic", "bodies", "categorical"))
				return v.and(Verdict{below(chance, f1), "every step called a contact " + spreadOf(chance).String()})
			},
		},
		{
			"limit", Table1,
			"Reacher: a logistic regression tells contacts with the joint's limit from the switch with F1 0.53.",
			func(r *Results) Verdict {
				v := r.reaches(Table1, "reacher", "concrete"+many, "contact", "f1_logistic/mean", 0.53)
				return v.and(r.stated("reacher", "contact", "f1_logistic/mean", "deterministic"+many, "concrete", "categorical"))
			},
		},
		{
			"maps", Table1, "Maze: the switch of Concrete follows the nearness of walls more than the weights of Fusion do.",
			func(r *Results) Verdict {
				v := Verdict{Judgement: Holds}
				for _, side := range []string{"vertical", "horizontal"} {
					metric := "correlation_ratio_" + side
					ours := r.values(r.group(Table1, "maze", "concrete"), "switches", metric)
					fusion := r.values(r.group(Table1, "maze", "fusion"), "switches", metric)
					v = v.and(Verdict{below(fusion, ours), fmt.Sprintf("%s walls: Concrete %s, Fusion %s", side, spreadOf(ours),
						spreadOf(fusion))})
				}
				return v
			},
		},
		{"activation", Table1, "Reacher: a system's weight depends on the angle of the limited joint more than on that of " +
			"the free one.", func(r *Results) Verdict {
			g := r.group(Table1, "reacher", "normal")
			limited, free := r.values(g, "latent", "correlation_ratio/elbow angle (3 rad)"),
				r.values(g, "latent", "correlation_ratio/θ (rad)")
			return Verdict{below(free, limited), fmt.Sprintf("limited %s, free %s", spreadOf(limited), spreadOf(free))}
		}},
	}
}

// fhnClaims compare R² of the oscillator with its stimulus unknown.
func fhnClaims() []Claim {
	r2 := func(r *Results, key string, k int) []float64 {
		return r.values(r.group(FHN, "fhn", key), "fhn", eval.Name("r2_unknown", k))
	}
	// R² of lower, less the margin, must lie below that of upper.
	compare := func(r *Results, lower, upper string, margin float64, horizons []int) Verdict {
		v := Verdict{Judgement: Holds}
		for _, k := range horizons {
			a, b := r2(r, lower, k), r2(r, upper, k)
			shifted := make([]float64, len(a))
			for i := range a {
				shifted[i] = a[i] - margin
			}
			v = v.and(Verdict{below(shifted, b), fmt.Sprintf("k = %d: %s %s, %s %s", k, lower, spreadOf(a), upper, spreadOf(b))})
		}
		return v
	}
	return []Claim{
		{"fhn-level", FHN, "Oscillator: R² of Concrete 30 steps ahead is 0.956 (at least 0.946).", func(r *Results) Verdict {
			return Verdict{atLeast(r2(r, "concrete", 30), 0.946), "Concrete " + spreadOf(r2(r, "concrete", 30)).String()}
		}},
		{
			"fhn-trslds", FHN, "Oscillator: Concrete is not more than 0.02 below TrSLDS at any horizon.",
			func(r *Results) Verdict {
				return compare(r, "trslds", "concrete", 0.02, eval.FHNHorizons())
			},
		},
		{
			"fhn-rslds", FHN, "Oscillator: Concrete and TrSLDS are better than rSLDS from 25 steps on.",
			func(r *Results) Verdict {
				return compare(r, "rslds", "concrete", 0, []int{25, 30}).and(compare(r, "rslds", "trslds", 0, []int{25, 30}))
			},
		},
		{"fhn-linear", FHN, "Oscillator: every model is better than a linear one from 5 steps on.", func(r *Results) Verdict {
			v := Verdict{Judgement: Holds}
			for _, key := range []string{"concrete", "trslds", "rslds"} {
				for _, k := range eval.FHNHorizons() {
					if k < 5 {
						continue
					}
					linear := r.values(r.group(FHN, "fhn", key), "fhn", eval.Name("r2_linear", k))
					v = v.and(Verdict{below(linear, r2(r, key, k)), fmt.Sprintf("k = %d: linear %s, %s %s", k, spreadOf(linear), key,
						spreadOf(r2(r, key, k)))})
				}
			}
			return v
		}},
	}
}

// ballClaims compare shares of wrong pixels; fewer are better.
func ballClaims() []Claim {
	wrong := func(r *Results, key, metric string, n int) []float64 {
		return r.values(r.group(Ball, "ball", key), "pixels", eval.Name(metric, n))
	}
	compare := func(r *Results, a, aMetric, b, bMetric string, horizons []int) Verdict {
		v := Verdict{Judgement: Holds}
		for _, n := range horizons {
			x, y := wrong(r, a, aMetric, n), wrong(r, b, bMetric, n)
			v = v.and(Verdict{below(x, y), fmt.Sprintf("n = %d: %s %s, %s %s", n, a, spreadOf(x), b, spreadOf(y))})
		}
		return v
	}
	return []Claim{
		{
			"ball-smoothed", Ball, "Ball: KVAE smoothed has fewer wrong pixels than ours after 1 and 5 images.",
			func(r *Results) Verdict {
				return compare(r, "kvae", "error_smoothed", "normal", "error", []int{1, 5})
			},
		},
		{
			"ball-generative", Ball, "Ball: ours has fewer wrong pixels than KVAE's generation from 5 images on.",
			func(r *Results) Verdict {
				return compare(r, "normal", "error", "kvae", "error", []int{5, 10, 15})
			},
		},
		{
			"ball-long", Ball, "Ball: ours has fewer wrong pixels than KVAE smoothed after 15 images.",
			func(r *Results) Verdict {
				return compare(r, "normal", "error", "kvae", "error_smoothed", []int{15})
			},
		},
	}
}

// dtClaims compare absolute errors at the durations of a step of figure 5c.
func dtClaims() []Claim {
	at := func(r *Results, key string, dt float64) []float64 {
		return r.values(r.group(DT, "maze", dtKey(key, dt)), "dt", "error")
	}
	return []Claim{
		{
			"dt-growth", DT, "The error grows with the duration of a step, for Normal and for Concrete.",
			func(r *Results) Verdict {
				v := Verdict{Judgement: Holds}
				for _, key := range []string{"normal", "concrete"} {
					steps := eval.DTPaperSteps()
					for i := 1; i < len(steps); i++ {
						v.Judgement = v.both(below(at(r, key, steps[i-1]), at(r, key, steps[i])))
					}
					v = v.and(Verdict{v.Judgement, fmt.Sprintf("%s: %s at %g s, %s at %g s", key, spreadOf(at(r, key, steps[0])),
						steps[0], spreadOf(at(r, key, steps[5])), steps[5])})
				}
				return v
			},
		},
		{"dt-short", DT, "Concrete is better than Normal at steps of 2 and 5 ms.", func(r *Results) Verdict {
			return dtCompare(r, at, "concrete", "normal", []float64{.002, .005})
		}},
		{"dt-long", DT, "Normal is better than Concrete at steps of 10 ms and more.", func(r *Results) Verdict {
			return dtCompare(r, at, "normal", "concrete", []float64{.01, .02, .04, .1})
		}},
	}
}

// dtCompare judges whether the error of a is below that of b at each duration, in seconds.
func dtCompare(r *Results, at func(*Results, string, float64) []float64, a, b string, steps []float64) Verdict {
	v := Verdict{Judgement: Holds}
	for _, dt := range steps {
		v = v.and(Verdict{below(at(r, a, dt), at(r, b, dt)), fmt.Sprintf("%g s: %s %s, %s %s", dt, a, spreadOf(at(r, a, dt)),
			b, spreadOf(at(r, b, dt)))})
	}
	return v
}
