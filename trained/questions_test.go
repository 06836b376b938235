package trained

import (
	"fmt"
	"testing"
)

// TestEach_NamesTheRecording: an error bears the name of its recording, unless none of them could be asked.
func TestEach_NamesTheRecording(t *testing.T) {
	list := []Recording{{Name: "episode a"}, {Name: "episode b"}}
	for _, c := range []struct {
		problem error
		want    string
	}{
		{ErrSeries, "episode a: " + ErrSeries.Error()},
		{fmt.Errorf("%w: no regimes", ErrUnable), ErrUnable.Error() + ": no regimes"},
	} {
		_, err := each(list, func(Series) (int, error) { return 0, c.problem })
		if err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
