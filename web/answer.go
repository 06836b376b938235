package web

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// The writers below ignore errors: they mean that the client is gone, and nobody is left to inform.

// writeText answers with a line of text.
func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}

// writeError answers with {"error": text}. The text is for people and says nothing of the inside of the server.
func writeError(w http.ResponseWriter, status int, text string) {
	writeStatus(w, status, map[string]string{"error": text})
}

// writeJSON answers with a value, in full only if the client does not have it yet.
func writeJSON(w http.ResponseWriter, r *http.Request, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		writeError(w, http.StatusInternalServerError, "the answer cannot be encoded")
		return
	}
	writeFresh(w, r, "application/json", append(data, '\n'))
}

// writeFresh answers with a text under its hash as ETag: a client that has it gets 304 and no body. It is compressed
// if the client takes that and it is long enough. Browsers may keep it, but have to ask each time.
func writeFresh(w http.ResponseWriter, r *http.Request, media string, data []byte) {
	h, sum := w.Header(), sha256.Sum256(data)
	tag := `W/"` + hex.EncodeToString(sum[:12]) + `"`
	h.Set("ETag", tag)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Accept-Encoding, Authorization")
	if slices.Contains(strings.Split(strings.ReplaceAll(r.Header.Get("If-None-Match"), " ", ""), ","), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", media)
	if len(data) < minCompressed || !takesGzip(r) {
		_, _ = w.Write(data)
		return
	}
	h.Set("Content-Encoding", "gzip")
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is valid
	_, _ = z.Write(data)
	_ = z.Close()
}

// minCompressed is the length from which an answer is compressed: less fits into a packet anyway.
const minCompressed = 1400

// takesGzip reports whether the client asks for gzip, and not for none of it.
func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(name, "gzip") {
			return strings.Trim(strings.TrimPrefix(strings.TrimSpace(quality), "q="), "0.") != "" || quality == ""
		}
	}
	return false
}

// writeStatus answers with a value as JSON, which nobody keeps.
func writeStatus(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be encoded"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}
