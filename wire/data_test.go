package wire

import (
	"errors"
	"testing"
)

// The pieces of a data set are all of it, once.
func TestPieces(t *testing.T) {
	for _, c := range [][2]int{{0, 64}, {1, 64}, {64, 64}, {65, 64}, {1000, 256}, {MaxData, MaxChunk}} {
		p, at := Pieces(c[0], c[1]), 0
		for i := range p.Count() {
			from, to := p.Span(i)
			if from != at || to <= from || to-from > c[1] || p.Bytes(i) != to-from {
				t.Errorf("%+v: piece %d is [%d, %d) after %d", p, i, from, to, at)
			}
			at = to
		}
		if at != c[0] {
			t.Errorf("%+v: the pieces end at %d", p, at)
		}
	}
}

func TestHashData(t *testing.T) {
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // FIPS 180-4, example of "abc"
	if got := HashData([]byte("abc")); got != want || len(got) != HashLength {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEncode_DataTooLarge(t *testing.T) {
	if _, err := NewEncoder().Encode(&Welcome{DataSize: MaxData + 1}); !errors.Is(err, ErrMalformed) {
		t.Errorf("got %v, want ErrMalformed", err)
	}
}
