package web

import (
	"embed"
	"io/fs"
	"net/http"
	"path"
)

//go:embed page
var page embed.FS

// mediaTypes of the files of the page; others are not served.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// pageFile serves a file of the page; "" is the page itself. Files of the page are in the program; any path that is
// none of them is 404.
func (s *Server) pageFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	if name == "" {
		name = "index.html"
	}
	data, err := fs.ReadFile(page, path.Join("page", name))
	media := mediaTypes[path.Ext(name)]
	if err != nil || media == "" {
		writeError(w, http.StatusNotFound, "there is no such page")
		return
	}
	writeFresh(w, r, media, data)
}
