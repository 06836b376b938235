package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/eval"
)

// A column of a table is a metric of a protocol, with the published figure of each row where there is one: paper
// returns it, or NaN. A nil paper has none.
type column struct {
	heading, protocol, metric string
	paper                     func(g *Group) float64
}

// table lays a metric for each column out, a row for each group, and lists the published figures in brackets. name is
// that of the table in numbers.csv. A table knows its groups and columns only: block makes it for the eye,
// writeCells for numbers.csv.
type table struct {
	name, caption string
	groups        []*Group
	columns       []column
	notes         []string
}

const spreadNote = "Each cell is the mean over the seeds, with their range; the paper's figure is in square brackets."

// block makes the cells of a table: mean and range over the seeds, and the published figure in brackets.
func (r *Results) block(t table) Block {
	out := &Table{Caption: t.caption, Columns: []string{""}, Notes: append([]string{spreadNote}, t.notes...)}
	for _, c := range t.columns {
		out.Columns = append(out.Columns, c.heading)
	}
	for _, g := range t.groups {
		row := []string{g.Label}
		for _, c := range t.columns {
			text := spreadOf(r.values(g, c.protocol, c.metric)).String()
			if v := c.published(g); !math.IsNaN(v) {
				text += " [" + short(v) + "]"
			}
			row = append(row, text)
		}
		out.Rows = append(out.Rows, row)
	}
	return Block{Table: out}
}

// published is the figure of the paper for a group, NaN if there is none.
func (c column) published(g *Group) float64 {
	if c.paper == nil {
		return math.NaN()
	}
	return c.paper(g)
}

// printed is the row that the paper has of a group, those of table 1 over Static; empty if it has none. suffix tells
// what a model smooths from what it predicts.
func printed(protocol, suffix string, g *Group) eval.Published {
	rows, model := eval.Paper(protocol, g.Environment), g.Key+suffix
	if protocol == "table1" {
		rows = eval.Table1Ratios(g.Environment)
	}
	if g.Part == DT {
		model = strings.Split(g.Key, "-")[1] // see dtKey
	}
	for _, p := range rows {
		if p.Model == model {
			return p
		}
	}
	return eval.Published{}
}

// paperAt returns the figure of the printed row of a group at a place of the axis of the protocol.
func paperAt(protocol, suffix string, at float64) func(*Group) float64 {
	return func(g *Group) float64 { return printed(protocol, suffix, g).Value(at) }
}

// tables lists the tables of a part. A table may have no groups where the plan has none.
func (r *Results) tables(part Part) []table {
	switch part {
	case Table1:
		var list []table
		for _, env := range []string{"maze", "reacher"} {
			list = append(list, r.ratios(env), r.errorsOf(env), r.probes(env))
		}
		return list
	case Ablation:
		return []table{r.ablation("maze"), r.ablation("reacher")}
	case FHN:
		return []table{r.oscillator()}
	case Ball:
		return []table{
			r.pixels("frames", "Mean share of wrong pixels in n predicted images", "error", true),
			r.pixels("last", "Share of wrong pixels in the n-th image alone", "error_last", false),
		}
	case DT:
		return []table{r.durations()}
	}
	return nil
}

// ratios is table 1 of the paper as errors over that of Static, with the published ratios.
func (r *Results) ratios(env string) table {
	t := table{
		name: "table1-" + env, caption: "Squared error of predictions k steps ahead over that of Static, " + env,
		groups: r.of(Table1, env),
		notes: []string{"Static repeats the last observation seen. The paper does not say how its errors add up over " +
			"steps: compare ratios."},
	}
	if r.Plan.Size == Quick {
		t.notes = append(t.notes, "KVAE, which the paper does not have here, made 10,000 updates, the others 30,000: more "+
			"do not improve it.")
	}
	if r.Plan.Size == Standard {
		t.notes = append(t.notes, "KVAE, which the paper does not have here, made 20,000 updates, the others 60,000.")
	}
	if env == "reacher" {
		t.notes = append(t.notes, "The paper does not say how many base systems its models have. Claims about the order of "+
			"models compare those that have 8 here.")
	}
	for _, k := range eval.Table1Horizons() {
		t.columns = append(t.columns, column{
			fmt.Sprintf("k = %d", k), "table1", eval.Name("ratio_to_static", k), paperAt("table1", "", float64(k)),
		})
	}
	return t
}

// errorsOf is the squared error itself, and over the variance that the model predicts. It has no published figures
// beside it; those of ratios compare.
func (r *Results) errorsOf(env string) table {
	t := table{
		name: "errors-" + env, caption: "Squared error, and the same over the predicted variance, " + env,
		groups: r.of(Table1, env),
		notes: []string{"Predictive mean of the rollouts after four observations, with true controls. Error over " +
			"variance: 1 is ideal; above 1 the model is overconfident."},
	}
	for _, c := range []struct{ heading, metric string }{{"error", "error"}, {"over variance", "calibration"}} {
		for _, k := range eval.Table1Horizons() {
			t.columns = append(t.columns, column{
				heading: fmt.Sprintf("%s, k = %d", c.heading, k), protocol: "table1",
				metric: eval.Name(c.metric, k),
			})
		}
	}
	return t
}

// probes is about what velocities, contacts and walls leave in states and switches, for the models that the
// protocol contact measures.
func (r *Results) probes(env string) table {
	// Only the models that the protocol contact measures have a row.
	groups := slices.DeleteFunc(r.of(Table1, env), func(g *Group) bool {
		return !slices.Contains(g.Protocols, "contact")
	})
	classifier := eval.Paper("contact", env)[0].Key
	t := table{name: "probes-" + env, caption: "What states and switches hold, " + env, groups: groups, columns: []column{
		{"velocity R², from z", "velocity", "r2_z/mean", paperAt("velocity", "", 0)},
		{"velocity R², from x and the x before", "velocity", "r2_xx/mean", nil},
		{"contact F1, " + classifier, "contact", "f1_" + classifier + "/mean", paperAt("contact", "", 0)},
		{"the same from mean weights", "contact", "f1_" + classifier + "_mean/mean", nil},
		{"chance", "contact", "chance/mean", nil},
		{"systems in use (perplexity)", "switches", "perplexity", nil},
	}, notes: []string{"Chance: the F1 of calling every step a contact."}}
	// The arm turns, so velocities are tried in its frame too; walls are the maze's.
	if env == "reacher" {
		turned := column{"velocity R², from z × (1, cos θ, sin θ)", "velocity", "r2_z_turned/mean", nil}
		t.columns = slices.Insert(t.columns, 1, turned)
		return t
	}
	t.columns = append(t.columns,
		column{"correlation ratio, vertical walls", "switches", "correlation_ratio_vertical", nil},
		column{"correlation ratio, horizontal walls", "switches", "correlation_ratio_horizontal", nil},
	)
	return t
}

// ablation compares kinds of switches and of weights by the ratio to Static and the systems in use.
func (r *Results) ablation(env string) table {
	t := table{name: "ablation-" + env, caption: "Switches and weights of ours, " + env, groups: r.of(Ablation, env)}
	for _, k := range eval.Table1Horizons() {
		t.columns = append(t.columns, column{
			heading: fmt.Sprintf("ratio to Static, k = %d", k), protocol: "table1",
			metric: eval.Name("ratio_to_static", k),
		})
	}
	t.columns = append(t.columns, column{"systems in use (perplexity)", "switches", "perplexity", nil})
	return t
}

// oscillator is R² by horizon, with the published curves.
func (r *Results) oscillator() table {
	t := table{
		name: "fhn", caption: "R² of predictions k steps ahead, oscillator, stimulus unknown", groups: r.of(FHN, "fhn"),
		notes: []string{"Held-out ends of the training trajectories. The paper's figures for Ours are of Concrete."},
	}
	for _, k := range eval.FHNHorizons() {
		t.columns = append(t.columns, column{
			fmt.Sprintf("k = %d", k), "fhn", eval.Name("r2_unknown", k), paperAt("fhn", "", float64(k)),
		})
	}
	return t
}

// pixels is a metric by number of images, and the same of what smoothing gives; published says whether the paper
// has figures of this metric.
func (r *Results) pixels(name, caption, metric string, published bool) table {
	t := table{name: "ball-" + name, caption: caption, groups: r.of(Ball, "ball")}
	for _, suffix := range []string{"", "_smoothed"} {
		for _, n := range eval.PixelHorizons() {
			c := column{fmt.Sprintf("n = %d%s", n, inWords(suffix)), "pixels", eval.Name(metric+suffix, n), nil}
			if published {
				c.paper = paperAt("pixels", suffix, float64(n))
			}
			t.columns = append(t.columns, c)
		}
	}
	if published {
		t.notes = append(t.notes, pixelBound)
	}
	return t
}

// inWords is the suffix of a metric as it follows a name.
func inWords(suffix string) string { return strings.Replace(suffix, "_", ", ", 1) }

// pixelBound says what package ball measures in TestBound.
const pixelBound = "From four images, no prediction can expect fewer wrong pixels than 0.0069, 0.0095, 0.0134 and " +
	"0.0170 in the next 1, 5, 10 and 15: a ball at its nearest pixel leaves its velocity open."

// durations has a row for each model and duration: error and ratio over Static.
func (r *Results) durations() table {
	t := table{name: "dt", caption: "Absolute error per dimension over ten steps, one agent in the maze"}
	for _, g := range r.of(DT, "maze") {
		// A copy: its label also says the duration.
		row := *g
		row.Label = fmt.Sprintf("%s, %g s", g.Label, g.X)
		t.groups = append(t.groups, &row)
	}
	if r.Plan.Size == Quick {
		t.notes = []string{"These runs make 5,000 updates, which is not enough where a step is short: an error over " +
			"Static of 1 means that nothing was learned."}
	}
	t.columns = []column{
		{"error", "dt", "error", func(g *Group) float64 { return printed("dt", "", g).Value(g.X) }},
		{"over Static", "dt", "ratio_to_static", nil},
	}
	return t
}
