package serve

import (
	_ "embed"
	"net/http"

	"github.com/permesso-crawler/permesso/internal/report"
)

var (
	//go:embed serve.css
	styleText string
	//go:embed page.js
	scriptText string
	//go:embed icon.svg
	iconText string
)

// A file is a file of the server that pages load.
type file struct{ kind, text string }

var files = map[string]file{
	"style.css": {"text/css; charset=utf-8", report.Style + styleText},
	"page.js":   {"text/javascript; charset=utf-8", scriptText},
	"icon.svg":  {"image/svg+xml", iconText},
}

func (f file) serve(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", f.kind)
	_, _ = w.Write([]byte(f.text)) // fails only if the client has left
}
