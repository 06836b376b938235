package wire

import "reflect"

// Kind names a message's type on the wire.
type Kind uint8

// The kinds of message, in the order of a worker's life. The numbers are those on the wire, so a new kind comes last.
// A Gate reads a kind as one byte below 128, in which msgpack writes it.
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

// messages has a row for each kind. A new message is a kind with its row, a type and its fields. Row 0 is empty:
// there is no such kind.
var messages = [...]row{
	KindIntroduce: of[Introduce](),
	KindHello:     of[Hello](),
	KindWelcome:   of[Welcome](),
	KindRefusal:   of[Refusal](),
	KindFetch:     of[Fetch](),
	KindPiece:     of[Piece](),
	KindReady:     of[Ready](),
	KindTheta:     of[Theta](),
	KindNeed:      of[Need](),
	KindLease:     of[Lease](),
	KindResult:    of[Result](),
	KindPull:      of[Pull](),
	KindChunk:     of[Chunk](),
	KindHeartbeat: of[Heartbeat](),
	KindBye:       of[Bye](),
	KindEnd:       of[End](),
	KindSeek:      of[Seek](),
	KindAssign:    of[Assign](),
	KindReduce:    of[Reduce](),
	KindRelay:     of[Relay](),
	KindOffer:     of[Offer](),
	KindShare:     of[Share](),
	KindThetaAt:   of[ThetaAt](),
	KindChunksAt:  of[ChunksAt](),
	KindStay:      of[Stay](),
}

// row is what is known of a kind of message.
type row struct {
	name string
	is   reflect.Type // of a Message
	make func() Message
}

// of is the row of a type of message. Its messages are pointers to T, as the decoder fills them in.
func of[T any, M interface {
	*T
	Message
}]() row {
	return row{reflect.TypeFor[T]().Name(), reflect.TypeFor[M](), func() Message { return M(new(T)) }}
}

// TypeOf returns the kind of a message. It is 0 for what is no message of this package.
func TypeOf(m Message) Kind {
	is := reflect.TypeOf(m)
	for k := range messages {
		if messages[k].is == is {
			return Kind(k)
		}
	}
	return 0
}

// newMessage returns an empty message of a kind, or nil where there is no such kind.
func newMessage(k Kind) Message {
	if k == 0 || k > lastKind {
		return nil
	}
	return messages[k].make()
}

// String returns the name of the kind's type.
func (k Kind) String() string {
	if k == 0 || k > lastKind {
		return "unknown"
	}
	return messages[k].name
}
