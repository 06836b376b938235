package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/envs/files"
)

// suggestion is a configuration to begin with.
type suggestion struct {
	Preset   string   `json:"preset"`   // empty where the data do not suffice
	Settings []string `json:"settings"` // key=value
	Why      string   `json:"why"`
	Convert  []string `json:"convert,omitempty"` // arguments of the command that has to be run before
}

// Windows are long enough for dynamics to show and short enough to train fast, and pieces of a long
// recording hold at least one short window.
const (
	longestWindow = 50
	shortestPiece = 20
	shortWindow   = 4 // the preset infers the first states from 3 steps
)

// suggest finds keys for a run on the data: sizes of the system of the paper that is most like them,
// and a window that fits the episodes. Files that were read under flags have to be converted, and so
// have recordings too few to be divided: a run reads files as they are.
func suggest(paths []string, flags readFlags, d *files.Dataset, s files.Summary) (suggestion, error) {
	lengths := episodeLengths(d)
	if undivided(d) {
		if flags.cut > 0 { // begin from the whole recordings
			flags.cut = 0
			whole, err := flags.read(paths)
			if err != nil {
				return suggestion{}, err
			}
			d, lengths = whole, episodeLengths(whole)
		}
		if flags.cut, lengths = cutInto(lengths); flags.cut == 0 {
			return suggestion{Settings: []string{}, Why: fmt.Sprintf("%d steps are too few: training, validation and test need an episode of %d steps each", d.Steps(), shortestPiece)}, nil
		}
	}
	g := suggestion{Preset: "files"}
	if flags.change() {
		out := freeName("own")
		g.Convert = append(append([]string{"data", "convert"}, paths...), append([]string{out}, flags.words()...)...)
		paths = []string{out}
	}
	window := fittingWindow(d, lengths)
	g.Settings = []string{"env.files=" + strings.Join(paths, ","), fmt.Sprintf("env.window=%d", window)}
	g.size(s, window)
	return g, nil
}

// size adds the keys of the model in which the system of the paper that is most like the data
// differs from the preset files.
func (g *suggestion) size(s files.Summary, window int) {
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

// undivided reports whether there are too few episodes to hold some out.
func undivided(d *files.Dataset) bool {
	return len(d.Episodes) < 3 && d.Episodes[0].Part == files.Unassigned
}

// cutInto finds a length of pieces for recordings, about a tenth of all steps, and the lengths of
// the pieces; 0 if the recordings are too short.
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
		// A rest may be all that validation gets: take a length that leaves none, or a long one.
		if whole >= 3 && slices.Min(pieces) >= min(n, shortestPiece)/2 {
			return n, pieces
		}
	}
	return 0, nil
}

// fittingWindow is a window that the longest episode of each part can fill. lengths are those of the
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
		window = max(window, min(sorted[len(sorted)/2], shortestPiece)) // the few that are shorter are not used
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

// words are the flags as the command line has them.
func (f *readFlags) words() []string {
	var words []string
	if len(f.rename) > 0 {
		var pairs []string
		for _, from := range slices.Sorted(maps.Keys(f.rename)) {
			pairs = append(pairs, from+"="+f.rename[from])
		}
		words = append(words, "--rename", strings.Join(pairs, ","))
	}
	if f.controlsAfter {
		words = append(words, "--controls-after")
	}
	if f.cut > 0 {
		words = append(words, "--cut", fmt.Sprint(f.cut))
	}
	if f.dt > 0 {
		words = append(words, "--dt", fmt.Sprint(f.dt))
	}
	return words
}

// freeName is the name of an npz file that does not exist yet.
func freeName(stem string) string {
	name := stem + ".npz"
	for i := 2; ; i++ {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) || i > 99 {
			return name
		}
		name = fmt.Sprintf("%s%d.npz", stem, i)
	}
}

// text is the suggestion as lines to copy, below a heading.
func (g suggestion) text(program string) string {
	if g.Preset == "" {
		return "suggested: nothing yet\n           (" + g.Why + ")"
	}
	line := func(words ...string) string {
		for i, w := range words {
			words[i] = quoted(w)
		}
		return program + " " + strings.Join(words, " ") + "\n           "
	}
	s := "suggested: "
	if g.Convert != nil {
		s += line(slices.Clone(g.Convert)...)
	}
	return s + line(append([]string{"train", g.Preset}, g.Settings...)...) + "(" + g.Why + ")"
}

// quoted is a word as a shell takes it.
func quoted(word string) string {
	if strings.ContainsAny(word, " \t*?[]{}()<>|&;$`\"'\\!#~") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}
