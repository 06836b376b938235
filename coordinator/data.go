package coordinator

import (
	"fmt"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/internal/wire"
)

// dataset is what the machine knows of the run's data set, and of its way to those who lack it. The bytes are the
// shell's matter.
type dataset struct {
	hash   string // empty: the run has none
	pieces wire.Pieces
	flying int    // bytes sent and not known to have arrived
	turn   uint64 // counts the pieces that were sent
}

func newDataset(data []byte, chunk int) dataset {
	if len(data) == 0 {
		return dataset{}
	}
	return dataset{hash: wire.HashData(data), pieces: wire.Pieces{Size: len(data), Each: chunk}}
}

// fetch is the data set's way to one member.
type fetch struct {
	lacking []wire.Range  // what the member last said, as far as it was not sent since
	flying  []int         // pieces sent and not known to have arrived
	aloft   []bool        // by piece: it is in flying
	movedAt time.Duration // last arrival, or the first piece sent after a rest
	turn    uint64        // when the last piece was sent to it
}

// fetch handles a Fetch: what the member no longer lacks has arrived, and frees the credit for more.
func (m *machine) fetch(now time.Duration, w *member, msg *wire.Fetch) {
	if reason, detail := m.checkFetch(msg); reason != "" {
		m.refuse(w, reason, true, "%s", detail)
		return
	}
	f := &w.fetch
	if f.aloft == nil {
		f.aloft = make([]bool, m.data.pieces.Count())
	}
	f.lacking = msg.Ranges
	flying := f.flying
	f.flying = flying[:0]
	for _, i := range flying {
		if arrived(msg.Ranges, i) {
			m.land(f, i)
			f.movedAt = now
		} else {
			f.flying = append(f.flying, i)
		}
	}
	m.spend(now)
}

func (m *machine) checkFetch(msg *wire.Fetch) (Reason, string) {
	if m.data.hash == "" || msg.Hash != m.data.hash {
		return ReasonData, fmt.Sprintf("data set %q was asked for, the run has %q", msg.Hash, m.data.hash)
	}
	return checkRanges("pieces", msg.Ranges, m.data.pieces.Count())
}

// checkRanges requires ranges of n things that are not empty, ascend and do not overlap.
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

// arrived reports whether piece i is there, according to a list of what is not. A full list may have been cut off.
func arrived(lacking []wire.Range, i int) bool {
	at, _ := slices.BinarySearchFunc(lacking, i, func(r wire.Range, i int) int { return r.First + r.Count - 1 - i })
	if at == len(lacking) {
		return len(lacking) < wire.MaxRanges
	}
	return i < lacking[at].First
}

// land takes back the credit of a piece.
func (m *machine) land(f *fetch, i int) {
	f.aloft[i] = false
	m.data.flying -= m.data.pieces.Bytes(i)
}

// ground ends the way to a member: it has gone, has all it needs, or nothing arrives there. It may ask again.
func (m *machine) ground(f *fetch) {
	for _, i := range f.flying {
		m.land(f, i)
	}
	f.lacking, f.flying = nil, f.flying[:0]
}

// next is the first piece to be sent to a member, if any.
func (f *fetch) next() (int, bool) {
	for len(f.lacking) > 0 {
		r := &f.lacking[0]
		for ; r.Count > 0; r.First, r.Count = r.First+1, r.Count-1 {
			if !f.aloft[r.First] {
				return r.First, true
			}
		}
		f.lacking = f.lacking[1:]
	}
	return 0, false
}

// deliver sends pieces as far as the credit goes, of which the data set takes no more than half, so that it never
// holds up a step. It serves the member with the fewest pieces on their way, and of these the one that has waited
// longest: one that does not take what it asked for does not hold up the others.
func (m *machine) deliver(now time.Duration) {
	for {
		var w *member
		var piece int
		for _, o := range m.members {
			i, ok := o.fetch.next()
			if ok && (w == nil || o.fetch.before(&w.fetch)) {
				w, piece = o, i
			}
		}
		if w == nil {
			return
		}
		n := m.data.pieces.Bytes(piece)
		if m.data.flying+n > m.cfg.Credit/2 || !m.affords(n) {
			return
		}
		f := &w.fetch
		if len(f.flying) == 0 {
			f.movedAt = now
		}
		m.data.turn++
		f.turn = m.data.turn
		f.flying, f.aloft[piece] = append(f.flying, piece), true
		m.data.flying += n
		m.emit(pieceCommand{w.id, piece})
	}
}

// before reports whether f is to be served before g.
func (f *fetch) before(g *fetch) bool {
	if len(f.flying) != len(g.flying) {
		return len(f.flying) < len(g.flying)
	}
	return f.turn < g.turn
}

// groundLost takes back what was sent to members at whom nothing has arrived for a while.
func (m *machine) groundLost(now time.Duration) {
	for _, w := range m.members {
		if f := &w.fetch; len(f.flying) > 0 && now-f.movedAt >= m.patience() {
			m.ground(f)
		}
	}
}
