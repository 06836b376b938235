package fit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead/job"
)

// Candidate is a model that is tried. It is a list of settings beside those that all have in common; the order of
// a list of candidates is that of the trials.
type Candidate struct {
	Family   string   `json:"family"`
	Settings []string `json:"settings"` // beside those of all candidates
	Seconds  float64  `json:"-"`        // of one core, by the model of costs
	Simple   bool     `json:"simple"`   // a simple rule: nothing is learned, or one autoregression
	Why      string   `json:"why,omitempty"`

	update float64 // seconds of an update; 0: it is not trained by updates
	tested bool    // the test compares with it: it is tried whatever the budget is
}

// Name says in a few words what a candidate is: its family, of the simple ones the rule or the order, and past
// controls and transform if there are any.
func (c *Candidate) Name() string {
	value := func(key string) string { v, _ := valueOf(c.Settings, key); return v }
	text := c.Family
	switch {
	case c.Family == "naive" && value("model.season") != "1":
		text = "the last season"
	case c.Family == "naive":
		text = "the last value"
	case c.drift():
		return "drift"
	case c.Family == "arhmm" && value("model.switches") == "1":
		text = fmt.Sprintf("autoregression of order %s", value("model.order"))
	case c.Family == "arhmm":
		text = fmt.Sprintf("arhmm with %s regimes of order %s", value("model.switches"), value("model.order"))
	}
	if past := c.past(); past != "" {
		text += " with " + past
	}
	if t := value("env.transform"); t != "" {
		text += " of " + t
	}
	return text
}

// past says how many past controls count; empty if none do.
func (c *Candidate) past() string {
	if v, ok := valueOf(c.Settings, "model.past_controls"); !ok || v == "" {
		return ""
	}
	return terminal.Count(int(numberOf(c.Settings, "model.past_controls")), "past control")
}

// lags says what tells an autoregression from others: its order, past controls and transform.
func (c *Candidate) lags() string {
	order, _ := valueOf(c.Settings, "model.order")
	parts := []string{"order " + order}
	if past := c.past(); past != "" {
		parts = append(parts, past)
	}
	if t, ok := valueOf(c.Settings, "env.transform"); ok && t != "" {
		parts = append(parts, "of "+t)
	}
	return strings.Join(parts, ", ")
}

// drift reports whether a candidate says that each step changes as much as the mean one: a constant is learned of
// the differences.
func (c *Candidate) drift() bool {
	order, ok := valueOf(c.Settings, "model.order")
	return ok && order == "0" && c.Simple
}

// candidateOf is the candidate with such settings. Costs and reasons are not known from settings: they are zero.
func candidateOf(settings []string) Candidate {
	family, _ := valueOf(settings, "model.kind")
	c := Candidate{Family: family, Settings: settings}
	switches, _ := valueOf(settings, "model.switches")
	c.Simple = c.Family == "naive" || c.Family == "arhmm" && switches == "1"
	return c
}

// candidates lists what could be tried, the most useful for its cost first: simple rules, the regimes that the data
// have, autoregressions, other regimes, networks. Of images only networks are tried. Families that were asked for
// leave out all others but the simple candidates, without which nothing could be compared. Errors are those of
// preparing a network.
func (p *Plan) candidates(d *data) ([]Candidate, error) {
	var all []Candidate
	if !p.facts.images {
		evident := p.evident()
		all = slices.Concat(p.rules(), evident, p.autoregressions(), p.regimes(evident))
	}
	networks, err := p.networks(d)
	if err != nil {
		return nil, err
	}
	all = append(all, networks...)
	if p.Request.Families == nil {
		return all, nil
	}
	// Simple candidates stay, whatever was asked for.
	kept := slices.DeleteFunc(all, func(c Candidate) bool {
		return !c.Simple && !slices.Contains(p.Request.Families, c.Family)
	})
	return kept, nil
}

// rules are the last value, the last season and the drift. They see what was observed, without transforms. The
// drift is left out where a transform was asked for, as it is a transform of its own.
func (p *Plan) rules() []Candidate {
	list := []Candidate{{Family: "naive", Settings: []string{"model.kind=naive", "model.season=1"}, Simple: true}}
	if s := p.facts.season; s > 1 {
		list = append(list, Candidate{
			Family: "naive", Settings: []string{"model.kind=naive", fmt.Sprintf("model.season=%d", s)}, Simple: true,
		})
	}
	// They cost next to nothing, and the test compares with them.
	for i := range list {
		list[i].Seconds, list[i].tested = trialSeconds, true
	}
	if p.Request.Read.Transform == "" {
		drift := p.autoregression(0, 0).transformed("diff")
		drift.tested = true
		list = append(list, drift)
	}
	return list
}

// mostOrder is the largest order that model.order takes.
const mostOrder = 64

// orders are those of autoregressions that so many training steps can pay for, an unknown for four steps: first
// that of least squares, that of least AIC, which the test compares with whatever it costs, and one that spans a
// season. A row may have at most 256 unknowns, and the lags have to fit into a recording.
func (p *Plan) orders() []int {
	f := p.facts
	orders := append([]int{1}, f.orders...)
	if f.season > 1 {
		orders = append(orders, f.season+1, f.season)
	}
	var list []int
	for _, n := range append(orders, 2, 3, 4, 6, 8, 12) {
		fits := n >= 1 && n <= mostOrder && n*(f.d+f.du) <= 256 && n < f.longest
		pays := f.tests(n) || 4*(n*(f.d+f.du)+1) <= f.steps
		if fits && pays && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

// autoregressions are models with one regime: least squares for one lag, and an autoregression for more. Controls
// of as many steps count as observations of lags do, and at the order of least AIC also the present ones alone.
// Those that the test compares with come first: they are tried whatever the budget is.
func (p *Plan) autoregressions() []Candidate {
	var list, others []Candidate
	for _, order := range p.orders() {
		for _, transform := range p.facts.transforms {
			c := p.autoregression(order, p.past(order)).transformed(transform)
			if c.tested = transform == "" && p.facts.tests(order); c.tested {
				list = append(list, c)
			} else {
				others = append(others, c)
			}
		}
	}
	list = append(list, others...)
	if n := p.facts.orders[0]; p.past(n) > 0 {
		list = append(list, p.autoregression(n, 0))
	}
	return list
}

// past is how many past controls count beside the present ones in a model of so many lags: as many steps of
// controls as of observations.
func (p *Plan) past(order int) int {
	if p.facts.du == 0 {
		return 0
	}
	return max(order-1, 0)
}

// lags are the settings of the lags of a model; past is left out where it is 0, the default.
func lags(order, past int) []string {
	list := []string{fmt.Sprintf("model.order=%d", order)}
	if past > 0 {
		list = append(list, fmt.Sprintf("model.past_controls=%d", past))
	}
	return list
}

// autoregression is a model with one regime, by as few sweeps of one chain as it needs: EM of one regime is least
// squares, unless values are missing.
func (p *Plan) autoregression(order, past int) Candidate {
	c := Candidate{Family: "arhmm", Simple: true, Settings: []string{"model.kind=arhmm", "model.switches=1"}}
	c.Settings = append(c.Settings, lags(order, past)...)
	sweeps := 2 // the first is least squares where nothing is missing
	if p.facts.missing {
		sweeps = 20
	}
	c.Settings = append(c.Settings, "model.chains=1", fmt.Sprintf("model.sweeps=%d", sweeps),
		fmt.Sprintf("model.exchange=%d", sweeps))
	c.Seconds = p.em(1, order, past, 1, sweeps)
	return c
}

// mostSwitches is the largest number of regimes that is tried without evidence of them.
const mostSwitches = 6

// regimes are autoregressive hidden Markov models whose unknowns the training part pays for, with eight steps for
// each unknown of a mean, the cheapest first. The one that found has is left out.
func (p *Plan) regimes(found []Candidate) []Candidate {
	var list []Candidate
	for _, transform := range p.facts.transforms {
		for switches := 2; switches <= mostSwitches; switches++ {
			for _, order := range []int{1, 2, 4} {
				row := p.row(order, p.past(order))
				if 8*switches*row > p.facts.steps || row > mostRow {
					continue
				}
				c := p.arhmm(switches, order).transformed(transform)
				if !slices.ContainsFunc(found, func(o Candidate) bool { return slices.Equal(o.Settings, c.Settings) }) {
					list = append(list, c)
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Candidate) int { return int(a.Seconds*1e6) - int(b.Seconds*1e6) })
	return list
}

// evident is the autoregressive hidden Markov model with as many regimes and lags as the training part has; none if
// it cannot tell. Resampling has shown that the data pay for it.
func (p *Plan) evident() []Candidate {
	e := p.evidence
	if !e.Settled() || e.Doubtful() || p.row(e.Lags, p.past(e.Lags)) > mostRow {
		return nil
	}
	return []Candidate{p.arhmm(e.Regimes, e.Lags).transformed(p.facts.transforms[0])}
}

// mostRow is the largest number of unknowns by which a regime predicts a channel.
const mostRow = 128

// row is the number of unknowns by which one regime with so many lags and past controls predicts a channel.
func (p *Plan) row(order, past int) int { return order*p.facts.d + (past+1)*p.facts.du + 1 }

// arhmm is a model with so many regimes and lags. Chains and sweeps are the same for all, so that they differ in size
// alone.
func (p *Plan) arhmm(switches, order int) Candidate {
	const chains, sweeps = 5, 100
	past := p.past(order)
	c := Candidate{Family: "arhmm", Settings: []string{"model.kind=arhmm", fmt.Sprintf("model.switches=%d", switches)}}
	c.Settings = append(c.Settings, lags(order, past)...)
	c.Settings = append(c.Settings, fmt.Sprintf("model.chains=%d", chains),
		fmt.Sprintf("model.sweeps=%d", sweeps), "model.exchange=50")
	c.Seconds = p.em(switches, order, past, chains, sweeps)
	return c
}

// transformed is a candidate that learns a transform of the observations; c itself if it is empty.
func (c Candidate) transformed(transform string) Candidate {
	if transform != "" {
		c.Settings = append(c.Settings, "env.transform="+transform)
	}
	return c
}

// networks are the families that are trained by gradient, with sizes that the values pay for. They learn the
// transform that was asked for or that data info suggests, or none. Where the evidence of regimes is settled, and
// nothing is transformed, the discrete switch has the sizes of the evidence. How many updates each gets is decided
// by pay.
func (p *Plan) networks(d *data) ([]Candidate, error) {
	families := []string{"slds", "lstm"}
	for _, f := range p.Request.Families {
		if !slices.Contains(families, f) && f != "naive" && f != "arhmm" {
			families = append(families, f)
		}
	}
	if p.Request.Families != nil { // nothing is prepared that is not tried
		families = slices.DeleteFunc(families, func(f string) bool { return !slices.Contains(p.Request.Families, f) })
	}
	transform := d.how.Transform
	var list []Candidate
	for _, family := range families {
		c := Candidate{Family: family, Settings: []string{"model.kind=" + family}}
		if d.window != "" {
			c.Settings = append(c.Settings, d.window)
		}
		c.Settings = append(c.Settings, d.suggests(family)...)
		if family == "slds" && !p.facts.images {
			c.Settings = override(c.Settings, []string{"model.switching=categorical"})
			if p.evidence.Settled() && transform == "" {
				g := Suggestion{Preset: "files", Settings: c.Settings}
				g.Regimes(p.Request.family(family), p.evidence.Regimes, p.evidence.Lags, p.evidence.Latent())
				c.Settings = g.Settings
			}
		}
		c = c.transformed(transform)
		var err error
		if c.update, err = p.updateSeconds(c); err != nil {
			return nil, fmt.Errorf("candidate %s: %w", c.Name(), err)
		}
		list = append(list, c)
	}
	return list, nil
}

// config is the configuration of a candidate: the preset for files, the settings of all candidates, and its own.
func (p *Plan) config(c Candidate) (config.Config, error) {
	r, err := p.Request.Kinds.Resolve(config.Sources{
		Preset: "files", Arguments: slices.Concat(p.common, c.Settings),
	})
	if err != nil {
		return config.Config{}, err
	}
	return r.Config, nil
}

// updateSeconds are the seconds of one core that an update takes, by its floating-point operations; 0 for a family that
// is not trained by updates.
func (p *Plan) updateSeconds(c Candidate) (float64, error) {
	cfg, err := p.config(c)
	if err != nil {
		return 0, err
	}
	if job.Sweeping(cfg) {
		return 0, nil
	}
	plan, err := job.Prepare(cfg, nil, 1)
	if err != nil {
		return 0, err
	}
	return plan.FLOPs/flopsPerSecond + updateSeconds, nil
}
