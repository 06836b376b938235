package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// HashLength is the number of characters in the hash of a data set.
const HashLength = 2 * sha256.Size

// HashData names a data set by its content: the SHA-256 in lower-case hexadecimal digits.
func HashData(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// DigestPartial names a partial sum by its content: the SHA-256, in lower-case hexadecimal digits, of its values and
// then its terms as little-endian float32. Unlike a checksum it also distinguishes contents that somebody chose to
// have the same sum. The two parts have fixed lengths within a run, so no boundary between them has to be written.
func DigestPartial(values, terms []float32) string {
	h := sha256.New()
	for _, part := range [][]float32{values, terms} {
		h.Write(FloatBytes(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Mark is what messages for one worker alone carry as their Token. The holder of the token recognises them by it;
// another worker under the same id drops them. Those who listen do not learn the token from its mark. It is never 0,
// which stands for a message to anyone.
func Mark(token uint64) uint64 {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("switchyard mark"), token))
	return binary.BigEndian.Uint64(sum[:]) | 1
}

// Pieces says how a data set of size bytes is cut: into chunks of at most the given number, whose elements are bytes.
func Pieces(size, each int) Chunking { return Int8.Chunking(size, each) }
