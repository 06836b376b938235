package envs

// Probed is an Env that says what of its truth an evaluation may look for in the latent state and in the switch of a
// model.
type Probed interface {
	Probes() Probes
}

// Probes are columns of the arrays of an Episode. What an environment leaves nil is not looked for.
type Probes struct {
	Rates []Column // of the states: what no single observation shows, as a velocity
	// of the observations: cosine and sine of the angle that turns what the rates act on; nil: nothing turns
	Turned   []int
	Contacts []int // of the labels: a body met something during the step, which a switch may be for
	// of the labels: a body met another body during the step; nil: bodies do not meet, or there is one
	Encounters []int
	Bodies     [][2]int // of the observations: x and y of bodies, for maps of the plane
	Limited    []Column // of the observations: coordinates with limits that contacts are at, as the angle of a joint
}

// Column is a column with what it is called. Index counts from 0.
type Column struct {
	Name  string
	Unit  string // of the value 1; may be empty
	Index int
}

// Label is the name with the unit, for an axis.
func (c Column) Label() string {
	if c.Unit == "" {
		return c.Name
	}
	return c.Name + " (" + c.Unit + ")"
}
