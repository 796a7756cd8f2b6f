package proc

import "net/http"

// lastInChunks answers a request whose body came in chunks (HTTP/1.1) as the last
// of its connection. It may have said a length, too: whoever goes by that, a proxy
// in front, finds its end elsewhere, and what follows would be a request of
// somebody else. RFC 9112, 6.1 has the connection closed then. net/http goes by the
// chunks and forgets the length before the handler sees it, so that nothing tells
// these from honest ones; they cost no more than another connection.
func lastInChunks(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}
