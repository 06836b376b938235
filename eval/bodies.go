package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/envs/files"
)

// Division says which channels and controls of recordings belong together, as bodies: those that help to predict each
// other.
type Division struct {
	Bodies []Body
	// Sure is the share of resampled data, block by block, that give the same division.
	Sure  float64
	Links []Link // that count, within bodies; the greatest gain first
	// Between is the greatest gain of a link that does not count; zero: there is none.
	Between Link
	// Setting is the value of model.bodies; empty if there is one body, or if they differ in size.
	Setting string
}

// Body lists what belongs together, counted from 0.
type Body struct{ Channels, Controls []int }

// mostChannels is for how many channels all pairs are tried. The work grows with its square.
const mostChannels = 64

// Divide finds bodies from held-out predictability. A link counts if it saves a share of at least leastGain of the
// squared error one step ahead, by at least leastZ standard errors: at first links that a linear fit sees,
// greedily, as controls that push a channel; then those that depend on the state, as a wall in the way. What links
// connect is a body. Data that cannot tell are a files.Error. Curved links are looked for only between channels
// that linear ones do not connect yet, O(channels²) of them.
func Divide(d *files.Dataset) (Division, error) {
	r := newRowsOf(d)
	if r.nx < 2 || r.nx > mostChannels {
		return Division{}, &files.Error{Problem: fmt.Sprintf("%d observed channels; bodies are looked for among 2 to %d",
			r.nx, mostChannels)}
	}
	if r.n < fewestRows {
		return Division{}, &files.Error{Problem: fmt.Sprintf("three steps in a row without a gap are there %d times; "+
			"bodies are looked for in %d or more", r.n, fewestRows)}
	}
	// A linear fit of every channel comes first: what is curved is looked for in its errors.
	r.normal()
	// linear fills in predicted and links channel by channel; curved needs all predictions.
	r.predicted = make([][]float64, r.nx)
	for to := range r.nx {
		r.linear(to)
	}
	group := r.groups(Link.counts)
	for to := range r.nx {
		for from := range r.nx {
			if group[from] != group[to] {
				r.links = append(r.links, r.curved(from, to))
			}
		}
	}
	return r.divide(), nil
}

// groups numbers what links connect, by channel and control, in the order of the first of each: the connected
// components of the links for which counts holds, each named by its first member as apart does.
func (r *rowsOf) groups(counts func(l Link) bool) []int {
	group := apart(r.nx + r.nu)
	for _, l := range r.links {
		if group[l.From] != group[l.To] && counts(l) {
			join(group, l.From, l.To)
		}
	}
	return group
}

// divide makes bodies of what the links connect, in the order of their first channels, and sorts the links into
// those that count and the greatest that does not.
func (r *rowsOf) divide() Division {
	var d Division
	group := r.groups(Link.counts)
	// The place of a group among the bodies. Channels come before controls, so a group without a channel is unknown.
	at := map[int]int{}
	for i, g := range group {
		if _, known := at[g]; !known {
			if i >= r.nx {
				continue // a control that has no effect
			}
			at[g] = len(d.Bodies)
			d.Bodies = append(d.Bodies, Body{})
		}
		if b := &d.Bodies[at[g]]; i < r.nx {
			b.Channels = append(b.Channels, i)
		} else {
			b.Controls = append(b.Controls, i-r.nx)
		}
	}
	for _, l := range r.links {
		if l.counts() {
			d.Links = append(d.Links, l)
		} else if l.Gain > d.Between.Gain && group[l.From] != group[l.To] {
			d.Between = l
		}
	}
	slices.SortStableFunc(d.Links, func(a, b Link) int { return cmp.Compare(b.Gain, a.Gain) })
	d.Sure, d.Setting = r.sure(group), d.setting(r.nu)
	return d
}

// sure is how often links connect the same whose gain and Z are of blocks that are drawn again. What is rounding, and
// has no Z, is no link of these either.
func (r *rowsOf) sure(group []int) float64 {
	return sureness(linkBlocks, func(times []float64) bool {
		return slices.Equal(group, r.groups(func(l Link) bool { return l.Z > 0 && l.of(times).counts() }))
	})
}

// setting is the value of model.bodies for bodies of one size. A body is its channels, then a colon and its
// controls if the data have any; bodies are parted by slashes, as 1,2:1/3,4:2.
func (d *Division) setting(nu int) string {
	if len(d.Bodies) < 2 {
		return ""
	}
	var lists []string
	for _, b := range d.Bodies {
		if len(b.Channels) != len(d.Bodies[0].Channels) || len(b.Controls) != len(d.Bodies[0].Controls) {
			return ""
		}
		list := numbers(b.Channels)
		if nu > 0 {
			list += ":" + numbers(b.Controls)
		}
		lists = append(lists, list)
	}
	return strings.Join(lists, "/")
}

// numbers are places, counted from 1 and parted by commas.
func numbers(places []int) string {
	var words []string
	for _, p := range places {
		words = append(words, strconv.Itoa(p+1))
	}
	return strings.Join(words, ",")
}
