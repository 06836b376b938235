package envtest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
)

// goldenEpisodes is large enough for rare events: an impact of two, a corner, a fall.
const goldenEpisodes = 64

// Golden checks that the SHA-256 of all arrays of a few dozen episodes, in hexadecimal, is want. These bits are part
// of the result of every run with env, on any machine: a faster simulation has to keep them. The hash is over
// float32 in little-endian order, array by array and episode by episode.
func Golden(t *testing.T, env envs.Env, want string) {
	t.Helper()
	digest := sha256.New()
	var e envs.Episode
	var bytes []byte
	for index := range uint32(goldenEpisodes) {
		env.Simulate(&e, key(1), index, length)
		for _, c := range columns(env.Spec(), &e) {
			bytes = bytes[:0]
			for _, v := range c.data {
				bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(v))
			}
			digest.Write(bytes)
		}
	}
	if got := hex.EncodeToString(digest.Sum(nil)); got != want {
		t.Errorf("episodes of %s: hash %s, want %s", env.Spec().Name, got, want)
	}
}
