package wire

// The fields of each message in wire order; the same list writes and reads. Each has its bound, so that a message that
// was decoded is within all bounds of this package. Whether its fields fit each other, and the run, is up to its
// receiver. To add, remove or reorder a field of a message takes a new Version.

func (*Introduce) fields(*codec) {}

func (m *Hello) fields(c *codec) {
	c.text(&m.Build, MaxText)
	c.count(&m.Slots, MaxLeases)
	numerics(c, &m.Numerics)
}

// numerics visits a fingerprint of at most MaxNumerics kernels. Their order is that of the sender.
func numerics(c *codec, v *[]Numeric) {
	list(c, v, MaxNumerics, func(n *Numeric) {
		c.text(&n.Kernel, MaxName)
		c.number(&n.Sum)
	})
}

func (m *Welcome) fields(c *codec) {
	c.count(&m.Size, MaxCount)
	c.count(&m.Chunk, MaxChunk)
	c.duration(&m.Heartbeat)
	c.blob(&m.Job, MaxJob)
	c.text(&m.DataHash, HashLength)
	c.count(&m.DataSize, MaxData)
	c.coding(&m.Gradients)
	c.coding(&m.Parameters)
	c.number(&m.Seed)
	c.count(&m.Shards, MaxCount)
	list(c, &m.Tensors, MaxTensors, func(n *int) { c.count(n, MaxCount) })
}

func (m *Refusal) fields(c *codec) {
	c.text(&m.Reason, MaxText)
	c.text(&m.Remedy, MaxText)
}

func (m *Fetch) fields(c *codec) {
	c.text(&m.Hash, HashLength)
	ranges(c, &m.Ranges)
}

func (m *Piece) fields(c *codec) {
	c.count(&m.Index, MaxCount)
	c.crc(&m.CRC)
	c.bulk(&m.Data)
}

func (m *Ready) fields(c *codec) {
	c.count(&m.Size, MaxCount)
	list(c, &m.Terms, MaxTerms, func(s *string) { c.text(s, MaxText) })
	c.text(&m.Job, HashLength)
	c.text(&m.Golden, HashLength)
}

// The data of a Theta, a Piece and a Chunk are outside the seal: they have the CRC that stands before them.
func (m *Theta) fields(c *codec) {
	c.number(&m.Step)
	c.count(&m.Pass, MaxCount)
	c.count(&m.Index, MaxCount)
	c.count(&m.Count, MaxCount)
	c.coding(&m.Coding)
	c.number(&m.BaseStep)
	c.count(&m.BasePass, MaxCount)
	c.crc(&m.CRC)
	c.bulk(&m.Data)
}

func (m *Need) fields(c *codec) {
	c.number(&m.Step)
	ranges(c, &m.Ranges)
}

// ranges visits at most MaxRanges ranges. Whether they ascend and do not overlap is not checked here.
func ranges(c *codec, v *[]Range) {
	list(c, v, MaxRanges, func(r *Range) {
		c.count(&r.First, MaxCount)
		c.count(&r.Count, MaxCount)
	})
}

func (m *Lease) fields(c *codec) {
	c.number(&m.ID)
	c.number(&m.Step)
	c.count(&m.Pass, MaxCount)
	c.count(&m.Attempt, MaxCount)
	c.work(&m.Work)
	c.count(&m.First, MaxCount)
	c.count(&m.Count, MaxCount)
	c.flag(&m.Audit)
	c.count(&m.Sections, MaxSections)
}

// A Source holds much more than the bytes that stand for it at least, so its list is bounded by these bytes, and not
// by their number alone.
func (m *Reduce) fields(c *codec) {
	c.number(&m.ID)
	c.number(&m.Step)
	c.count(&m.Pass, MaxCount)
	c.count(&m.Attempt, MaxCount)
	c.count(&m.Number, MaxCount)
	c.count(&m.Sections, MaxSections)
	c.count(&m.First, MaxSections)
	c.count(&m.Count, MaxSections)
	c.flag(&m.Audit)
	list(c, &m.Sources, min(MaxSources, c.left()/leastSource), func(s *Source) {
		c.count(&s.First, MaxCount)
		c.count(&s.Count, MaxCount)
		c.text(&s.Holder, maxWorker)
		c.number(&s.Lease)
		c.digests(&s.Digests)
	})
}

func (m *Relay) fields(c *codec) {
	c.number(&m.Step)
	c.count(&m.Pass, MaxCount)
	list(c, &m.Names, min(MaxListed, c.left()), func(s *string) { c.text(s, maxWorker) })
	c.digests(&m.Digests)
}

const (
	maxWorker = 2*MaxName + 1 // bytes in a worker's Name
	// leastSource is how many bytes a Source takes on the wire at least: three numbers and the length of a text, a byte
	// each, and two of an empty bin. A list of them claims no more memory than its bytes may stand for.
	leastSource = 6
)

// What a Result says is compared with its lease: nothing here knows how many terms or digests there are to be.
func (m *Result) fields(c *codec) {
	c.number(&m.Lease)
	c.number(&m.Step)
	c.count(&m.Attempt, MaxCount)
	c.work(&m.Work)
	c.count(&m.First, MaxCount)
	c.count(&m.Count, MaxCount)
	list(c, &m.Terms, MaxTerms, c.float)
	c.count(&m.Length, MaxCount)
	c.crc(&m.Checksum)
	c.text(&m.Digest, HashLength)
	c.digests(&m.Digests)
	c.text(&m.Fault, MaxText)
	c.duration(&m.Took)
}

func (m *Pull) fields(c *codec) {
	c.number(&m.Lease)
	c.count(&m.First, MaxCount)
	c.count(&m.Count, MaxCount)
}

func (m *Chunk) fields(c *codec) {
	c.number(&m.Lease)
	c.number(&m.Step)
	c.count(&m.Index, MaxCount)
	c.crc(&m.CRC)
	c.bulk(&m.Data)
}

func (m *Heartbeat) fields(c *codec) {
	c.number(&m.Step)
	list(c, &m.Running, MaxLeases, func(p *Progress) {
		c.number(&p.Lease)
		c.count(&p.Done, MaxCount)
	})
	c.number(&m.Processor)
	c.number(&m.Memory)
}

func (*Bye) fields(*codec) {}

func (m *End) fields(c *codec) {
	c.text(&m.Reason, MaxText)
}

func (m *Seek) fields(c *codec) {
	c.text(&m.Build, MaxText)
	c.count(&m.Slots, MaxLeases)
	numerics(c, &m.Numerics)
	c.text(&m.Serving, MaxName)
	c.number(&m.Number)
}

func (m *Assign) fields(c *codec) {
	c.text(&m.To, MaxName)
	c.number(&m.Number)
	c.number(&m.Order)
}

func (m *Offer) fields(c *codec) {
	c.text(&m.Place, MaxName)
}

func (m *Share) fields(c *codec) {
	c.flag(&m.On)
	c.text(&m.Why, MaxText)
}

func (m *ThetaAt) fields(c *codec) {
	c.number(&m.Step)
	c.count(&m.Pass, MaxCount)
	c.place(&m.At)
	c.number(&m.Turn)
	c.crc(&m.Sum)
}

func (m *ChunksAt) fields(c *codec) {
	c.number(&m.Lease)
	c.number(&m.Step)
	c.count(&m.First, MaxCount)
	c.count(&m.Count, MaxCount)
	c.place(&m.At)
	c.crc(&m.Sum)
}

func (m *Stay) fields(c *codec) {
	c.number(&m.Step)
	c.count(&m.Pass, MaxCount)
	c.count(&m.BasePass, MaxCount)
	c.count(&m.Count, MaxCount)
}
