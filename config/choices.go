package config

// choices are the defaults that the kinds of these entries choose in place of those of a preset, by key.
func (k *Kinds) choices(entries []entry) map[string]string {
	// A resolver of its own reads the entries without reporting problems: they are reported when they are read for
	// good.
	r := k.resolver()
	r.choose(entries)
	r.applyAll(entries)
	c := &r.config
	kind := c.kinds.model.find(c.Model.Kind)
	if kind.Decides == nil || c.Env.Settings == nil || c.Model.Settings == nil {
		return nil
	}
	list := map[string]string{}
	for _, d := range kind.Decides(c) {
		// Decisions that follow a key of the kind are no defaults: settle gives them, whatever is written.
		if d.By == "" {
			list[d.Key] = d.Value
		}
	}
	return list
}

// prefer lets a preset have its own value of a key that its settings choose another value for: what it writes there it
// writes for that choice, and knows it. The value is left out where a user's settings choose something else, or
// nothing: it was for another switch. A preset that writes a key before there is a choice, as the base of all does,
// knows nothing of it, and the choice has precedence.
func (r *resolver) prefer(layers []layer) {
	var all []entry
	for _, l := range layers {
		all = append(all, l.entries...)
	}
	last := r.config.kinds.choices(all)
	// The entries of the base lie behind one another, preset by preset, the one that the others are based on first.
	// Each is judged by what was chosen when it was written: by the entries up to its end.
	base := layers[0].entries
	var kept []entry
	for from := 0; from < len(base); {
		to := from
		for to < len(base) && base[to].origin.Name == base[from].origin.Name {
			to++
		}
		then := r.config.kinds.choices(base[:to])
		for _, e := range base[from:to] {
			// known: when the preset was written there was a choice for this key, its own or that of its base.
			before, known := then[e.path]
			now, chosen := last[e.path]
			if known && (!chosen || now != before) {
				continue
			}
			r.preferred[e.path] = known
			kept = append(kept, e)
		}
		from = to
	}
	layers[0].entries = kept
}
