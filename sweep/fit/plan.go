package fit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead/job"
)

// Decision is what fit decided about the data, and how to decide otherwise.
type Decision struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	By    string `json:"by"` // the flag or key that says it
}

// Plan is what a fit will do: a function of the data and the request. Decisions and candidates are kept in the
// record of the fit.
type Plan struct {
	Request    Request     `json:"-"`
	Decisions  []Decision  `json:"decisions"`
	Candidates []Candidate `json:"candidates"`
	Left       []Candidate `json:"left,omitempty"` // those that the budget leaves out
	// How files were read, where it may surprise, and what is suspicious of their values.
	Notes []string `json:"notes,omitempty"`
	// Seconds of one core, by the model of costs, for the candidates and the winner's further seeds.
	Seconds float64 `json:"seconds"`

	common   []string // settings of all candidates
	facts    facts
	evidence eval.Evidence // of regimes in the training part; of none if it cannot tell
}

// facts are what candidates depend on: sizes of the data and of their parts, and what was found in them.
type facts struct {
	d, du      int   // channels and controls
	steps      int   // of the training part
	longest    int   // of its recordings
	held, test int   // of the recordings of the validation and of the test part, the longest
	season     int   // 0: none
	orders     []int // of the autoregressions of least AIC: of all orders, and of those that a test compares with
	horizon    int
	images     bool
	missing    bool     // some values
	gaps       [][]int  // how many values of each step are missing in the training recordings that miss some
	transforms []string // that candidates try; the first is none, unless one was asked for
}

// tests reports whether the test compares with an autoregression of so many lags: with least squares of one, and
// with those of least AIC.
func (f facts) tests(order int) bool { return order == 1 || slices.Contains(f.orders, order) }

// samples are the paths of a prediction: with so many, chance adds half a per cent to an error.
const samples = 100

// Plan reads the files, decides how they are used, and lists the candidates that the budget pays for. Nothing is
// trained or written. The errors are those of reading, files.ErrData where there are too few data or none that a
// candidate could be scored by, and config.ErrUsage for settings that a fit does not take.
func (r *Request) Plan() (*Plan, error) {
	d, err := r.read()
	if err != nil {
		return nil, err
	}
	return r.plan(d)
}

// plan is Plan for files that have been read.
func (r *Request) plan(d *data) (*Plan, error) {
	c, recordings, err := r.base(d.common)
	if err != nil {
		return nil, err
	}
	p := &Plan{Request: *r, Notes: slices.Concat(d.set.Notes, d.set.Suspicious())}
	p.facts = factsOf(c, recordings)
	if err := scorable(recordings, p.facts.season); err != nil {
		return nil, err
	}
	// The window was found for the parts that were suggested; settings may have made others.
	if _, said := valueOf(r.Settings, "env.window"); !said && d.window != "" {
		fits := min(int(numberOf([]string{d.window}, "env.window")), p.facts.held, p.facts.longest)
		d.window = fmt.Sprintf("env.window=%d", fits)
	}
	p.facts.transforms = transforms(r.Read.Transform, d.most, p.facts)
	// Horizon and samples are decided here, unless the request says them.
	p.common = d.common
	if _, said := valueOf(d.common, "eval.horizon"); !said {
		p.common = append(p.common, fmt.Sprintf("eval.horizon=%d", p.facts.horizon))
	} else {
		p.facts.horizon = c.Eval.Horizon
	}
	if _, said := valueOf(d.common, "eval.samples"); !said {
		p.common = append(p.common, fmt.Sprintf("eval.samples=%d", samples))
	}
	if err := p.weigh(recordings); err != nil {
		return nil, err
	}
	p.decide(d, recordings)
	all, err := p.candidates(d)
	if err != nil {
		return nil, err
	}
	if p.pay(all); len(p.Candidates) == 0 { // of images, which no rule predicts
		return nil, config.Hint(config.Usagef("the budget pays for no candidate: of images only networks are tried"),
			"--budget %v pays for one", p.least())
	}
	return p, nil
}

// weigh finds how many regimes the training part has, if a network with regimes is tried. The validation and the
// test part are not looked at. Data that it cannot tell anything of leave the evidence empty; that is no error.
func (p *Plan) weigh(r *eval.Recordings) error {
	if p.Request.Families != nil && !slices.Contains(p.Request.Families, "slds") || p.facts.images {
		return nil
	}
	training := *r.Set
	training.Episodes = nil
	for _, i := range r.Split.Training {
		training.Episodes = append(training.Episodes, r.Set.Episodes[i])
	}
	found, err := eval.Weigh(&training)
	if unable := new(files.Error); err != nil && !errors.As(err, &unable) {
		return err
	} else if err == nil {
		p.evidence = found
	}
	return nil
}

// base is a configuration of the simplest candidate, with the data as it sees them, divided into parts. It returns
// files.ErrData with a hint if nothing is held out.
func (r *Request) base(common []string) (config.Config, *eval.Recordings, error) {
	resolved, err := r.Kinds.Resolve(config.Sources{
		Preset: "files", Arguments: append(slices.Clone(common), "model.kind=naive"),
	})
	if err != nil {
		return config.Config{}, nil, err
	}
	c := resolved.Config
	recordings, err := job.Unbegun(&c)
	if err != nil {
		return c, nil, err
	}
	if len(recordings.Split.Validation) == 0 || len(recordings.Split.Test) == 0 {
		return c, nil, config.Hint(
			&files.Error{Problem: "nothing is held out to choose a model by and to test the choice"},
			"fit needs a validation and a test part: env.split=time makes them of the ends of the recordings")
	}
	return c, recordings, nil
}

// factsOf are the facts of recordings under a configuration. The number of steps is that of the training part
// alone.
func factsOf(c config.Config, r *eval.Recordings) facts {
	f := facts{
		d: r.Set.Spec.Observation, du: r.Set.Spec.Control, season: r.Season(), images: r.Set.Images(),
	}
	f.orders = []int{r.Order(eval.MostLags)}
	if prefix, err := (eval.Subject{Recordings: r, Length: c.Env.Window}).Seen(); err == nil {
		f.orders = append(f.orders, r.Order(prefix))
	}
	for _, i := range r.Split.Training {
		e := &r.Set.Episodes[i]
		f.steps += e.T
		f.longest = max(f.longest, e.T)
		if slices.Contains(e.Mask, 0) {
			f.gaps = append(f.gaps, missing(e, f.d))
		}
	}
	// Missing values are counted over all parts: they decide how many sweeps an EM takes.
	values := 0
	for i := range r.Set.Episodes {
		values += r.Set.Episodes[i].T * f.d
	}
	f.missing = r.Set.Observed() < values
	for _, i := range r.Split.Validation {
		f.held = max(f.held, r.Set.Episodes[i].T)
	}
	for _, i := range r.Split.Test {
		f.test = max(f.test, r.Set.Episodes[i].T)
	}
	// A season where the calendar has a long one; else ten steps, and at least two starts in what is held out.
	f.horizon = max(1, min(10, min(f.test, f.held)/2))
	if s := r.Set.Season(); s > 10 && s+2 <= min(f.test, f.held) {
		f.horizon = s
	}
	return f
}

// missing counts the values of each step [T] that were not measured.
func missing(e *files.Episode, channels int) []int {
	n := make([]int, e.T)
	for i, seen := range e.Mask {
		if seen == 0 {
			n[i/channels]++
		}
	}
	return n
}

// transforms are what candidates do to the observations before scaling. One that was asked for is the only one.
// Otherwise: none, the one that suits most of the data, and differences at the lag of a season, where the longest
// recording has more than four and channels share one transform.
func transforms(asked, most string, f facts) []string {
	if asked != "" {
		return []string{asked}
	}
	list := []string{""}
	if most != "" {
		list = append(list, most)
	}
	if f.season > 1 && f.longest > 4*f.season && !strings.ContainsAny(most, "=,") && !f.images {
		seasonal := fmt.Sprintf("diff%d", f.season)
		if strings.HasPrefix(most, "log") {
			seasonal = "log-" + seasonal
		}
		if seasonal != most {
			list = append(list, seasonal)
		}
	}
	return list
}

// decide lists the decisions, in the order in which the data go through them.
func (p *Plan) decide(d *data, r *eval.Recordings) {
	add := func(name, by, format string, args ...any) {
		p.Decisions = append(p.Decisions, Decision{name, fmt.Sprintf(format, args...), by})
	}
	set, f := r.Set, p.facts
	// A few channels are named, many are counted.
	names := make([]string, 0, f.d)
	for c := range min(f.d, 8) {
		names = append(names, set.ChannelName(c))
	}
	if f.d > 8 || f.images {
		names = []string{terminal.Count(f.d, "channel")}
	}
	add("observed", "--observe", "%s", strings.Join(names, ", "))
	if f.du > 0 {
		add("controls", "--control", "%s", terminal.Count(f.du, "channel"))
	}
	times := "rows are even steps"
	if set.Spec.DT > 0 {
		times = fmt.Sprintf("a step is %s %s", terminal.Number(set.Spec.DT, 4), set.TimeUnit)
	}
	add("time", "--time", "%s", strings.TrimSpace(orColumn(d.how.Time)+times))
	add("recordings", "--id", "%s%s", orColumn(d.how.ID), terminal.Count(len(d.set.Episodes), "recording"))
	missing, values := 0, 0
	for i := range d.set.Episodes {
		values += d.set.Episodes[i].T * f.d
	}
	missing = values - d.set.Observed()
	gaps := "none"
	if missing > 0 {
		gaps = fmt.Sprintf("%s of %s values are missing; they are neither trained on nor scored", terminal.Group(missing),
			terminal.Group(values))
	}
	if d.how.Resample != "" {
		gaps += "; rows are brought to steps of " + d.how.Resample
	}
	add("gaps", "--resample", "%s", gaps)
	tried := make([]string, len(f.transforms))
	for i, t := range f.transforms {
		if tried[i] = t; t == "" {
			tried[i] = "none"
		}
	}
	text := strings.Join(tried, ", ")
	if len(tried) > 1 {
		text += ": each is tried"
	}
	add("transform", "--transform", "%s", text)
	if of, _ := valueOf(p.common, "env.normalise"); of == files.EachRecording {
		add("scaling", "env.normalise", "each recording by itself")
	}
	season := "none found"
	if f.season > 1 {
		season = fmt.Sprintf("%d steps", f.season)
	}
	add("season", "", "%s", season)
	if p.evidence.Regimes > 0 {
		add("regimes", "", "%s", p.evidence.Text())
	}
	add("split", "env.split, env.validation, env.test", "%s", splitText(r))
	horizon := terminal.Count(f.horizon, "step")
	if most := min(f.held, f.test); f.horizon > most {
		horizon += fmt.Sprintf("; no more than %d are scored, as no held-out recording is longer", most)
	}
	add("horizon", "--horizon", "%s", horizon)
}

// orColumn names the column that a decision was taken from, or the columns, if there is one.
func orColumn(name string) string {
	switch {
	case name == "" || name == files.NoTime:
		return ""
	case strings.Contains(name, ","):
		return "columns " + name + ": "
	}
	return "column " + name + ": "
}

// splitText says in words how the data are divided: by time if a recording goes on in another part.
func splitText(r *eval.Recordings) string {
	var steps [3]int
	byTime := false
	parts := [3][]int{r.Split.Training, r.Split.Validation, r.Split.Test}
	for i, part := range parts {
		for _, e := range part {
			steps[i] += r.Set.Episodes[e].T
			byTime = byTime || r.Set.Episodes[e].Continues
		}
	}
	if byTime {
		return fmt.Sprintf("by time: %s steps for training, then %s to choose by, then %s to test the choice",
			terminal.Group(steps[0]), terminal.Group(steps[1]), terminal.Group(steps[2]))
	}
	text := fmt.Sprintf("by recording: %d for training, %d to choose by, %d to test the choice", len(parts[0]),
		len(parts[1]), len(parts[2]))
	if r.Set.Episodes[0].Part == files.Unassigned { // else the files say so
		text += "; to test the future of each: env.split=time"
	}
	return text
}

// Time is how long the plan takes on so many workers, by the model of costs and as if it could be divided evenly.
func (p *Plan) Time(workers int) time.Duration {
	return time.Duration(p.Seconds / float64(max(workers, 1)) * float64(time.Second))
}
