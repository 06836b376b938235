package terminal

import "time"

// Meter measures a rate over the recent past. The zero value is ready for use, by one goroutine at a time.
type Meter struct {
	marks []mark
}

// mark says that a count was reached at a time.
type mark struct {
	at    time.Time
	count uint64
}

// meterSpan is the length of time that a rate is measured over; meterMarks is the number of marks in it.
const (
	meterSpan  = 20 * time.Second
	meterMarks = 64
)

// Add records that count was reached at a time. Times do not decrease. A count that is below the last one begins anew,
// as that of a run that goes back. A Meter keeps about meterMarks of them, however often it is called, but always the
// last two.
func (m *Meter) Add(at time.Time, count uint64) {
	if n := len(m.marks); n > 0 && count < m.marks[n-1].count {
		m.marks = m.marks[:0]
	}
	if n := len(m.marks); n > 1 && at.Sub(m.marks[n-2].at) < meterSpan/meterMarks {
		m.marks[n-1] = mark{at, count} // close to the mark before: the last mark moves
		return
	}
	m.marks = append(m.marks, mark{at, count})
	// Marks older than the span go, but two stay, so that a run with slow steps has a rate.
	drop := 0
	for drop < len(m.marks)-2 && at.Sub(m.marks[drop].at) > meterSpan {
		drop++
	}
	m.marks = append(m.marks[:0], m.marks[drop:]...)
}

// Rate is the count per second between the oldest and the latest mark; 0 if there are fewer than two.
func (m *Meter) Rate() float64 {
	if len(m.marks) < 2 {
		return 0
	}
	first, last := m.marks[0], m.marks[len(m.marks)-1]
	seconds := last.at.Sub(first.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(last.count-first.count) / seconds
}
