package revoke

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"time"

	"tidings/auth"
	"tidings/fault"
)

// Order is what an operator asks for: a token by its id, or those of a subject,
// or everybody's, which were issued before a time. Without a time, a subject's
// are those issued until now.
type Order struct {
	TokenID string    `json:"jti,omitempty"`
	Subject string    `json:"sub,omitempty"`
	Before  time.Time `json:"before,omitzero"`
}

// ahead is how far in the future a time may lie, for issuers whose clock is
// wrong: what is issued until then is refused, so a mistake would lock people out.
const ahead = time.Hour

// revocation is what the order means at a moment.
func (o Order) revocation(now time.Time) auth.Revocation {
	r := auth.Revocation{TokenID: o.TokenID, Subject: o.Subject, Before: o.Before, At: now}
	if r.Subject != "" && r.Before.IsZero() {
		r.Before = now
	}
	return r
}

// ServeHTTP takes an Order by POST as JSON: 204 when it is stored and counts
// here, 400 when it says nothing, 503 when the bus is away. It does not ask who
// calls.
func (l *List) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if typ, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || typ != "application/json" {
		http.Error(w, "send the revocation as Content-Type: application/json", http.StatusUnsupportedMediaType)
		return
	}
	var o Order
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxValue))
	body.DisallowUnknownFields()
	if err := body.Decode(&o); err != nil {
		http.Error(w, fmt.Sprintf("the revocation cannot be read: %v", err), http.StatusBadRequest)
		return
	}
	if o.Before.After(time.Now().Add(ahead)) {
		http.Error(w, "the time lies more than an hour in the future: nobody could come in until then", http.StatusBadRequest)
		return
	}
	err := l.Revoke(r.Context(), o.revocation(time.Now().UTC()))
	switch f := fault.Of(err); {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case f.Code == fault.BadUserInput, f.Code == fault.PayloadTooLarge:
		http.Error(w, f.Message, http.StatusBadRequest)
	default:
		l.opts.Logger.Error("tokens could not be revoked", "error", err)
		http.Error(w, "the revocation could not be stored: "+f.Message+"; send it again", http.StatusServiceUnavailable)
	}
}
