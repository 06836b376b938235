package wire

// Kind names a message's type on the wire.
type Kind uint8

// The kinds of message, in the order of a worker's life.
const (
	KindIntroduce Kind = 1 + iota
	KindHello
	KindWelcome
	KindRefusal
	KindFetch
	KindPiece
	KindReady
	KindTheta
	KindNeed
	KindLease
	KindResult
	KindPull
	KindChunk
	KindHeartbeat
	KindBye
	KindEnd
	KindSeek
	KindAssign
	KindReduce
	KindRelay
	KindOffer
	KindShare
	KindThetaAt
	KindChunksAt
	KindStay

	lastKind = KindStay
)

// String returns the name of the kind's type.
func (k Kind) String() string {
	names := [...]string{
		"", "Introduce", "Hello", "Welcome", "Refusal", "Fetch", "Piece", "Ready", "Theta", "Need", "Lease", "Result", "Pull",
		"Chunk",
		"Heartbeat", "Bye", "End", "Seek", "Assign", "Reduce", "Relay", "Offer", "Share", "ThetaAt", "ChunksAt", "Stay",
	}
	if k == 0 || int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}

// Kind identifies the message.
func (*Introduce) Kind() Kind { return KindIntroduce }

// Kind identifies the message.
func (*Hello) Kind() Kind { return KindHello }

// Kind identifies the message.
func (*Welcome) Kind() Kind { return KindWelcome }

// Kind identifies the message.
func (*Refusal) Kind() Kind { return KindRefusal }

// Kind identifies the message.
func (*Fetch) Kind() Kind { return KindFetch }

// Kind identifies the message.
func (*Piece) Kind() Kind { return KindPiece }

// Kind identifies the message.
func (*Ready) Kind() Kind { return KindReady }

// Kind identifies the message.
func (*Theta) Kind() Kind { return KindTheta }

// Kind identifies the message.
func (*Need) Kind() Kind { return KindNeed }

// Kind identifies the message.
func (*Lease) Kind() Kind { return KindLease }

// Kind identifies the message.
func (*Result) Kind() Kind { return KindResult }

// Kind identifies the message.
func (*Pull) Kind() Kind { return KindPull }

// Kind identifies the message.
func (*Chunk) Kind() Kind { return KindChunk }

// Kind identifies the message.
func (*Heartbeat) Kind() Kind { return KindHeartbeat }

// Kind identifies the message.
func (*Bye) Kind() Kind { return KindBye }

// Kind identifies the message.
func (*End) Kind() Kind { return KindEnd }

// Kind identifies the message.
func (*Seek) Kind() Kind { return KindSeek }

// Kind identifies the message.
func (*Assign) Kind() Kind { return KindAssign }

// Kind identifies the message.
func (*Reduce) Kind() Kind { return KindReduce }

// Kind identifies the message.
func (*Relay) Kind() Kind { return KindRelay }

// Kind identifies the message.
func (*Offer) Kind() Kind { return KindOffer }

// Kind identifies the message.
func (*Share) Kind() Kind { return KindShare }

// Kind identifies the message.
func (*ThetaAt) Kind() Kind { return KindThetaAt }

// Kind identifies the message.
func (*ChunksAt) Kind() Kind { return KindChunksAt }

// Kind identifies the message.
func (*Stay) Kind() Kind { return KindStay }
