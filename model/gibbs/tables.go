package gibbs

import (
	"slices"

	"github.com/switchyard-ml/switchyard/model"
)

var _ model.Tabular = (*Ensemble)(nil)

// Arrays are all that filters and forecasts: the averaged parameters of each chain and its kept draws, the tree and the
// prior of the first state. Chains [C] are in the order of their weights, draws [N] in that of the chains; draws.chain
// says whose each is. The names in mean.* and draws.* are those of Params.
func (e *Ensemble) Arrays() []model.Array {
	lead := e.chains[0]
	d, tree := lead.dims, lead.mean.tree
	start := make([]float64, d.D)
	for i := range start {
		start[i] = lead.mean.start
	}
	sample := 0.0
	if e.rollout == RolloutSample {
		sample = 1
	}
	weights := e.weights
	if weights == nil {
		weights = slices.Repeat([]float64{1 / float64(len(e.chains))}, len(e.chains))
	}
	var chains []float64
	var means, draws []Params
	for i, c := range e.chains {
		means = append(means, c.mean.theta)
		for _, s := range c.draws {
			chains, draws = append(chains, float64(i)), append(draws, s.theta)
		}
	}
	list := []model.Array{
		table("rollout.sample", []float64{sample}, 1), table("chains.weights", weights, len(weights)),
		table("tree.first", reals(tree.first), d.K-1), table("tree.middle", reals(tree.middle), d.K-1),
		table("start.variance", start, d.D), table("draws.chain", chains, len(chains)),
	}
	return slices.Concat(list, stacked("mean.", means, d), stacked("draws.", draws, d))
}

// stacked are copies of the parameters of several systems, one behind the other in a new first dimension; those of
// inner nodes, which predict nothing, are left out.
func stacked(prefix string, all []Params, d dims) []model.Array {
	var list []model.Array
	for i, part := range all[0].parts(d) {
		if part.Name == "inner" {
			continue
		}
		var values []float64
		for _, p := range all {
			values = append(values, p.parts(d)[i].Values...)
		}
		list = append(list, table(prefix+part.Name, values, append([]int{len(all)}, part.Shape...)...))
	}
	return list
}

// table is a named array of a shape.
func table(name string, values []float64, shape ...int) model.Array {
	return model.Array{Part: model.Part{Name: name, Shape: shape}, Values: values}
}

// reals are integers as float64.
func reals(list []int) []float64 {
	values := make([]float64, len(list))
	for i, v := range list {
		values[i] = float64(v)
	}
	return values
}
