package soap

import (
	"context"
	"net/http"
	"time"

	"tidings/bus"
)

// callSilence is after how long a call is taken for lost with its worker. One that
// takes longer is begun a second time, and changes nothing twice: it has a name.
const callSilence = 5 * time.Second

// call hands a call to a worker, and again when that one is lost.
func (g *Gateway) call(ctx context.Context, r *http.Request, h bus.Header, envelope []byte, name *naming) (bus.Message, error) {
	silence := callSilence
	if _, waits := ctx.Deadline(); waits || name == nil { // a pull is silent for as long as nothing happens
		silence = 0
	}
	defer g.waiting.Rise()()
	return g.bus.Persist(ctx, g.options.Patience, bus.Asked{
		Subject: g.bus.Subjects().SOAP(g.offer(r).version, g.options.Service), Silence: silence,
		Make: func(again bool) (bus.Header, []byte, error) {
			if again && name != nil {
				h.Set(headerAgain, "1")
			}
			return h, envelope, nil
		},
	})
}
