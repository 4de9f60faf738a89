package serve

import (
	"errors"
	"net/http"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/control"
)

// steering has the commands that change a running crawl, with what is said when one was done.
var steering = map[string]string{
	"pause":   "Paused: visits under way are finished, no new ones start.",
	"resume":  "It goes on.",
	"slow":    "Done: the pause is longer from now on.",
	"exclude": "Done: no more requests are sent there.",
}

// maxForm is the maximum size of a form, in bytes.
const maxForm = 16 << 10

// steer changes a running crawl by a form.
func (s *Server) steer(w http.ResponseWriter, r *http.Request, p *place, do string) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		refuse(w, r, http.StatusBadRequest, "The form cannot be read, and nothing was changed.")
		return
	}
	switch {
	case s.options.Token == "":
		refuse(w, r, http.StatusForbidden, "This server only shows crawls (--read-only). Nothing was changed.")
		return
	case !s.allowed(r.PostForm.Get("token")):
		refuse(w, r, http.StatusForbidden, "The token is missing, or is not that of this server. Nothing was changed. Open the address that crawl serve has printed, or copy the token from it.")
		return
	}
	ask := control.Ask{Reason: strings.TrimSpace(r.PostForm.Get("reason"))}
	switch do {
	case "slow":
		ask.Of, ask.Delay = strings.TrimSpace(r.PostForm.Get("of")), strings.TrimSpace(r.PostForm.Get("delay"))
	case "exclude":
		if ask.Of = strings.TrimSpace(r.PostForm.Get("of")); ask.Of == "" || ask.Reason == "" {
			refuse(w, r, http.StatusBadRequest, "Give a site or a host, and the reason. Nothing was changed.")
			return
		}
	}
	var refused *control.RefusedError
	err := control.Tell(r.Context(), p.dir, do, ask)
	switch {
	case err == nil:
		said(w, r, steering[do])
	case errors.Is(err, control.ErrNobody), errors.As(err, &refused) && refused.Ended:
		refuse(w, r, http.StatusConflict, "No process runs this crawl, and nothing was changed.")
	case errors.As(err, &refused):
		refuse(w, r, http.StatusConflict, "The crawl has refused it: "+err.Error())
	default:
		refuse(w, r, http.StatusBadGateway, err.Error())
	}
}

// said tells the user that a form had its effect: to the script of the page in a line of text,
// and otherwise by the page.
func said(w http.ResponseWriter, r *http.Request, text string) {
	if wantsText(r) {
		plain(w, http.StatusOK, text)
		return
	}
	http.Redirect(w, r, "./", http.StatusSeeOther)
}

// wantsText reports whether a request is not for a page.
func wantsText(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return !strings.Contains(accept, "text/html")
}

func plain(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text + "\n")) // fails only if the client has left
}

// refuse answers a request that has no effect, with the reason.
func refuse(w http.ResponseWriter, r *http.Request, code int, why string) {
	if wantsText(r) {
		plain(w, code, why)
		return
	}
	render(w, code, "refusal", frame{Title: http.StatusText(code), Text: why})
}
