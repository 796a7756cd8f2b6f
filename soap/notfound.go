package soap

import (
	"fmt"
	"net/http"
	"strings"
)

// NotFound answers a request for a path that is none of Paths: 404, with a text that
// says which there are.
func (g *Gateway) NotFound(w http.ResponseWriter, r *http.Request) {
	var text strings.Builder
	fmt.Fprintf(&text, "There is nothing at %.200q. The SOAP service %s is called at:\n", r.URL.Path, g.options.Service)
	for _, o := range g.offers {
		note := ""
		if o.preview {
			note = ", still being made"
		}
		fmt.Fprintf(&text, "  %s (%s%s; its contract: %s?wsdl)\n", g.addresses[0]+o.path, o.version, note, g.addresses[0]+o.path)
	}
	http.Error(w, text.String(), http.StatusNotFound)
}
