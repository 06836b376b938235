package coordinator

// HurryChoice lets a run that chooses its exchange judge by so few steps, so that short runs choose often.
func (c *Coordinator) HurryChoice(steps int) { c.machine.exchange.Chooser.Window = steps }
