package chaos

// Outcome is what a run under faults came to, beside a run without.
type Outcome struct {
	Equal     bool             `json:"equal"` // the parameters are the same bits: the run has survived
	SHA256    string           `json:"sha256"`
	Reference string           `json:"reference_sha256"` // of the run without faults
	Faults    map[string]int64 `json:"faults"`
	Goodput   float64          `json:"goodput"` // useful_shards / issued_shards
	Seconds   float64          `json:"seconds"`
	Step      uint64           `json:"step"`
	Useful    uint64           `json:"useful_shards"`
	Issued    uint64           `json:"issued_shards"`
	Exits     int              `json:"exits"` // processes that ended by themselves
	Effects   Effects          `json:"effects"`
	Idle      []string         `json:"not_tested"` // faults that were asked for and did nothing; empty: none
	Growth    []Growth         `json:"growth,omitempty"`
}

// Outcome compares a result with the hash of the parameters that a run without faults had after as many steps.
func (r *Result) Outcome(reference string) Outcome {
	return Outcome{
		Equal: r.SHA256 == reference, SHA256: r.SHA256, Reference: reference, Faults: r.Faults, Goodput: r.Goodput(),
		Seconds: r.Seconds, Step: r.Step, Useful: r.Useful, Issued: r.Issued, Exits: r.Exits, Effects: r.Effects,
		Idle: append([]string{}, r.Idle...), Growth: r.Growth,
	}
}
