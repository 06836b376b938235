package coordinator

// HurryChoice lets a run that chooses its exchange judge by so few steps, so that short runs choose often.
func (c *Coordinator) HurryChoice(steps int) { c.machine.exchange.Chooser.Window = steps }

// Vectors is how many vectors of a gradient's size are kept for the next pull.
func (c *Coordinator) Vectors() int { return len(c.machine.transfer.pool) }
