package boot

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"

	"tidings/bus"
	"tidings/fault"
)

// EraseOrder says what is to be erased at once.
type EraseOrder struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// erase takes an EraseOrder by POST as JSON, from a program on the same machine,
// and answers with a resource.Erased. It does not ask who calls.
func (r *Rooms) erase(w http.ResponseWriter, q *http.Request) {
	if typ, _, err := mime.ParseMediaType(q.Header.Get("Content-Type")); err != nil || typ != "application/json" {
		http.Error(w, "send the order as Content-Type: application/json", http.StatusUnsupportedMediaType)
		return
	}
	var o EraseOrder
	body := json.NewDecoder(http.MaxBytesReader(w, q.Body, 4<<10))
	body.DisallowUnknownFields()
	if err := body.Decode(&o); err != nil || o.Type == "" || o.ID == "" {
		http.Error(w, fmt.Sprintf("the order cannot be read: name the type and the id (%v)", err), http.StatusBadRequest)
		return
	}
	e, done := r.Use()
	defer done()
	if e.worker == nil {
		http.Error(w, "this process writes nothing: ask a worker, by its admin address", http.StatusConflict)
		return
	}
	erased, err := e.worker.EraseNow(q.Context(), o.Type, o.ID)
	switch f := fault.Of(err); {
	case err == nil:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(erased) // the caller may have gone
	case errors.Is(err, bus.ErrPurgeDenied):
		http.Error(w, "the log does not allow purging: the stream was set to deny_purge, or the worker's credentials may not", http.StatusConflict)
	case f.Code == fault.Internal:
		r.log.Error("a record could not be erased", "type", o.Type, "error", err)
		http.Error(w, "it failed; the log of this process says why", http.StatusInternalServerError)
	case f.Code == fault.Unavailable, f.Code == fault.Timeout:
		http.Error(w, f.Message+"; send it again", http.StatusServiceUnavailable)
	default:
		http.Error(w, f.Message, http.StatusBadRequest)
	}
}
