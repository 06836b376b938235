package coordinator

import (
	"fmt"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/wire"
)

// dataset is what the machine knows of the run's data set, and of its way to the members that lack it. The shell has
// the bytes. Pieces are as long as a full chunk of parameters.
type dataset struct {
	hash     string // empty: the run has none
	pieces   wire.Chunking
	inFlight int           // bytes sent and not known to have arrived
	turn     uint64        // counts the pieces that were sent
	held     bool          // the credit holds back a piece
	heldAt   time.Duration // since when
}

// newDataset is that of so many bytes in pieces of chunk bytes. It forms a SHA-256 over all of them, and keeps
// nothing.
func newDataset(data []byte, chunk int) dataset {
	if len(data) == 0 {
		return dataset{}
	}
	return dataset{hash: wire.HashData(data), pieces: wire.Pieces(len(data), chunk)}
}

// fetch is the data set's way to one member.
//
// Invariant: isSent is set for the pieces in sent, each of which stands there once.
type fetch struct {
	lacking []wire.Range  // what the member last said, as far as it was not sent since
	sent    []int         // pieces sent and not known to have arrived
	isSent  []bool        // by piece
	movedAt time.Duration // last arrival, or the first piece sent after a rest
	turn    uint64        // when the last piece was sent to it
}

// confirm handles a member's list of the pieces that it lacks. A piece that it no longer lacks has arrived, and gives
// back its credit. The list was checked, so it ascends; it belongs to the member from now on.
func (x *transfer) confirm(now time.Duration, f *fetch, lacking []wire.Range) {
	if f.isSent == nil {
		f.isSent = make([]bool, x.data.pieces.Count())
	}
	// The list is the newest that the member has said, so it replaces what was known.
	f.lacking = lacking
	sent := f.sent
	f.sent = sent[:0]
	for _, i := range sent {
		if arrived(lacking, i) {
			x.refund(f, i)
			f.movedAt = now
		} else {
			f.sent = append(f.sent, i)
		}
	}
}

// check says what is wrong with a request for the data set. The reason is empty if nothing is.
func (d *dataset) check(msg *wire.Fetch) (Reason, string) {
	if d.hash == "" || msg.Hash != d.hash {
		return ReasonData, fmt.Sprintf("data set %q was asked for, the run has %q", msg.Hash, d.hash)
	}
	return checkRanges("pieces", msg.Ranges, d.pieces.Count())
}

// checkRanges requires ranges of n things that are not empty, ascend and do not overlap. So no list makes the
// coordinator send more than everything, once. n − First cannot overflow, as First is below n.
func checkRanges(what string, ranges []wire.Range, n int) (Reason, string) {
	end := 0
	for _, r := range ranges {
		if r.First < end || r.Count < 1 || r.First >= n || r.Count > n-r.First {
			return ReasonData, fmt.Sprintf("%s %d+%d after %d of %d", what, r.First, r.Count, end, n)
		}
		end = r.First + r.Count
	}
	return "", ""
}

// arrived reports whether piece i has arrived, according to a list of those that have not. A list of full length may be
// incomplete.
func arrived(lacking []wire.Range, i int) bool {
	at, _ := slices.BinarySearchFunc(lacking, i, func(r wire.Range, i int) int { return r.First + r.Count - 1 - i })
	if at == len(lacking) {
		return len(lacking) < wire.MaxRanges
	}
	return i < lacking[at].First
}

// refund takes back the credit of a piece. The caller takes it out of sent.
func (x *transfer) refund(f *fetch, i int) {
	f.isSent[i] = false
	x.data.inFlight -= x.data.pieces.Bytes(i)
}

// endFetch stops sending pieces to a member: it has left, has all it needs, or receives nothing. It may ask again.
func (x *transfer) endFetch(f *fetch) {
	for _, i := range f.sent {
		x.refund(f, i)
	}
	f.lacking, f.sent = nil, f.sent[:0]
}

// next is the first piece to be sent to a member, if any. It shortens lacking by what was sent.
func (f *fetch) next() (int, bool) {
	for len(f.lacking) > 0 {
		r := &f.lacking[0]
		for ; r.Count > 0; r.First, r.Count = r.First+1, r.Count-1 {
			if !f.isSent[r.First] {
				return r.First, true
			}
		}
		f.lacking = f.lacking[1:]
	}
	return 0, false
}

// deliver sends pieces as far as the credit allows. The data set uses at most half of the credit, so that it never
// delays a step. A piece that was held back for long goes out all the same, alone: members that never send the
// gradients that they were asked for use up the credit, and must not keep out others. The member with the fewest pieces
// in flight comes first, and among equals the one that has waited longest: a member that receives nothing does not
// delay the others.
func (x *transfer) deliver(now time.Duration, members []*member) {
	d := &x.data
	for {
		var w *member
		var piece int
		// Who is to be served next? There are thousands of members at most, and few that fetch.
		for _, o := range members {
			i, ok := o.fetch.next()
			if ok && (w == nil || o.fetch.before(&w.fetch)) {
				w, piece = o, i
			}
		}
		if w == nil {
			return
		}
		n := d.pieces.Bytes(piece)
		if (d.inFlight+n > x.credit/2 || !wire.Affords(n, x.inFlight+d.inFlight, x.credit)) && !x.overdue(now) {
			return
		}
		d.held = false
		f := &w.fetch
		// After a rest, the time limit begins with this piece.
		if len(f.sent) == 0 {
			f.movedAt = now
		}
		d.turn++
		f.turn = d.turn
		f.sent, f.isSent[piece] = append(f.sent, piece), true
		d.inFlight += n
		x.out.add(pieceCommand{w.id, piece})
	}
}

// overdue notes that the credit holds back a piece. It reports whether it has done so for long, and no other piece is
// on its way.
func (x *transfer) overdue(now time.Duration) bool {
	d := &x.data
	if !d.held {
		d.held, d.heldAt = true, now
	}
	return d.inFlight == 0 && now-d.heldAt >= x.timing.patience()
}

// before reports whether f is to be served before g.
func (f *fetch) before(g *fetch) bool {
	if len(f.sent) != len(g.sent) {
		return len(f.sent) < len(g.sent)
	}
	return f.turn < g.turn
}

// endLostFetches takes back the credit of pieces that were sent to members where nothing has arrived for a while. A
// member that is alive asks again with its next Fetch.
func (x *transfer) endLostFetches(now time.Duration, members []*member) {
	for _, w := range members {
		if f := &w.fetch; len(f.sent) > 0 && now-f.movedAt >= x.timing.patience() {
			x.endFetch(f)
		}
	}
}
