// Package suggest finds settings to begin with for a user's data: the model sizes of the most similar system in the
// paper, and a window that fits the episodes. It looks at shapes and ranges only. It trains nothing and knows no
// command line.
package suggest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/envs/files"
)

// Suggestion is a configuration to begin with.
type Suggestion struct {
	Preset   string   `json:"preset"`   // empty if there are not enough data
	Settings []string `json:"settings"` // key=value
	Why      string   `json:"why"`

	Conversion *Conversion `json:"-"` // to be run first; nil: the files need no conversion
}

// Conversion converts files that were read with options into one file that a run can read without options.
type Conversion struct {
	From []string
	How  files.Options
	To   string
}

// Windows are long enough to show the dynamics and short enough to train fast. Each piece of a long recording has at
// least one short window.
const (
	longestWindow = 50
	shortestPiece = 20
	shortWindow   = 4 // the preset infers the first states from 3 steps
)

// For finds settings for a run on these data: the model sizes of the most similar system in the paper, and a window
// that fits the episodes. A run reads files without options, so files that need options have to be converted first; so
// do recordings that are too few to be split. d is the content of paths, read with the options how; s is its summary;
// out is the path for a conversion.
func For(paths []string, how files.Options, out string, d *files.Dataset, s files.Summary) (Suggestion, error) {
	lengths := episodeLengths(d)
	if Undivided(d) {
		if how.Cut > 0 { // begin with the whole recordings
			how.Cut = 0
			whole, err := files.Read(paths, how)
			if err != nil {
				return Suggestion{}, err
			}
			d, lengths = whole, episodeLengths(whole)
		}
		if how.Cut, lengths = cutInto(lengths); how.Cut == 0 {
			return Suggestion{Settings: []string{}, Why: fmt.Sprintf("%d steps are too few: training, validation and test need an episode of %d steps each", d.Steps(), shortestPiece)}, nil
		}
	}
	g := Suggestion{Preset: "files"}
	if changed(how) {
		g.Conversion = &Conversion{From: paths, How: how, To: out}
		paths = []string{out}
	}
	window := fittingWindow(d, lengths)
	g.Settings = []string{"env.files=" + strings.Join(paths, ","), fmt.Sprintf("env.window=%d", window)}
	g.size(s, window)
	return g, nil
}

// size sets the keys of the model for the most similar system in the paper, if they differ from the preset files.
func (g *Suggestion) size(s files.Summary, window int) {
	observations := 0
	for _, c := range s.Channels {
		if c.Signal != "u" {
			observations++
		}
	}
	set := func(key string, value any) { g.Settings = append(g.Settings, fmt.Sprintf("%s=%v", key, value)) }
	first := 3 // model.initial_observations of the preset
	switch {
	case s.Image != nil:
		g.Why = "images, as the ball in a box"
		set("model.hidden", 256)
		set("model.blocks", 2)
		set("model.encoder_hidden", 1024)
		if s.Channels[0].Min >= 0 && s.Channels[0].Max <= 1 {
			set("model.emission", "bernoulli")
		}
		first = 4
	case observations <= 4:
		g.Why = "few observations: the sizes of the preset"
	case observations <= 16:
		g.Why = "several observations, as the arm"
		set("model.latent", 16)
		set("model.hidden", 256)
		set("model.blocks", 2)
	default:
		g.Why = "many observations: a wide latent state, as in the maze"
		set("model.latent", max(32, min(2*observations, 128)))
		set("model.switches", 16)
		set("model.hidden", 256)
		set("model.blocks", 2)
	}
	if first = min(first, window-1); first != 3 {
		set("model.initial_observations", first)
	}
}

func episodeLengths(d *files.Dataset) []int {
	var lengths []int
	for i := range d.Episodes {
		lengths = append(lengths, d.Episodes[i].T)
	}
	return lengths
}

// Undivided reports whether there are too few episodes to hold some out for validation.
func Undivided(d *files.Dataset) bool {
	return len(d.Episodes) < 3 && d.Episodes[0].Part == files.Unassigned
}

// cutInto finds a length for the pieces of recordings, about a tenth of all steps, and returns it with the lengths of
// the pieces. It returns 0 if the recordings are too short.
func cutInto(lengths []int) (int, []int) {
	steps := 0
	for _, n := range lengths {
		steps += n
	}
	for n := max(steps/10, shortestPiece); n >= shortestPiece; n-- {
		var pieces []int
		whole := 0
		for _, rest := range lengths {
			for ; rest >= 2; rest -= n {
				pieces = append(pieces, min(rest, n))
			}
		}
		for _, p := range pieces {
			if p == n {
				whole++
			}
		}
		// Validation may get nothing but the short rest of a recording, so the length of pieces has to leave no rest,
		// or a long one.
		if whole >= 3 && slices.Min(pieces) >= min(n, shortestPiece)/2 {
			return n, pieces
		}
	}
	return 0, nil
}

// fittingWindow is a window that fits into the longest episode of each part of the data. lengths are those of the
// episodes that a run will read.
func fittingWindow(d *files.Dataset, lengths []int) int {
	read := &files.Dataset{}
	for i, n := range lengths {
		e := files.Episode{Part: files.Unassigned}
		if len(lengths) == len(d.Episodes) {
			e.Part = d.Episodes[i].Part
		}
		e.T = n
		read.Episodes = append(read.Episodes, e)
	}
	sorted := slices.Sorted(slices.Values(lengths))
	window := sorted[0]
	if window < shortestPiece {
		window = max(window, min(sorted[len(sorted)/2], shortestPiece)) // a run does not use the few shorter ones
	}
	if split, err := read.Split(1, files.DefaultFractions()); err == nil {
		for _, part := range [][]int{split.Training, split.Validation} {
			longest := 0
			for _, i := range part {
				longest = max(longest, lengths[i])
			}
			if longest > 0 {
				window = min(window, longest)
			}
		}
	}
	return min(window, longestWindow)
}

// changed reports whether options change the data that a run would read.
func changed(o files.Options) bool {
	return len(o.Rename) > 0 || o.ControlsAfter || o.Cut > 0 || o.DT > 0
}
