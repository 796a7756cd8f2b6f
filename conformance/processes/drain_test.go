//go:build conformance

package processes

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// An api that is told to stop sends its subscribers elsewhere, not all at once:
// sockets are closed with 1012, event streams end as a whole, no operation is completed,
// and the process ends well and in time.
func TestAnAPIThatIsToldToStopSendsItsSubscribersElsewhere(t *testing.T) {
	t.Parallel()
	const window = 1500 * time.Millisecond
	a := startAPI(t, "api", t.TempDir(), []string{"TIDINGS_JWT_SECRET=" + strings.Repeat("s", 32)},
		"--dev=false", "--drain-delay", "0s", "--drain-window", window.String())
	const each = 8
	all := each * len(transports)
	ends := make(chan error, all)
	listen := func(st stream) {
		for {
			if _, err := st.next(); err != nil {
				ends <- err
				return
			}
		}
	}
	for _, open := range transports {
		for range each {
			st, err := open(t.Context(), a.url, anybody, postChanges)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(st.close)
			go listen(st)
		}
	}

	began := time.Now()
	a.terminate(t)
	closed, ended := 0, 0
	late := time.After(window + 5*time.Second)
	for range all {
		select {
		case err := <-ends:
			switch c, _ := errors.AsType[*websocket.CloseError](err); {
			case c != nil && c.Code == websocket.CloseServiceRestart:
				closed++
			case err == io.EOF:
				ended++
			default:
				t.Errorf("a stream ended with: %v", err)
			}
		case <-late:
			t.Fatalf("after %s, %d sockets and %d event streams of %d have ended", time.Since(began), closed, ended, all)
		}
	}
	if closed != all/2 || ended != all/2 {
		t.Errorf("%d sockets closed with 1012, %d event streams ended well; want %d of each", closed, ended, all/2)
	}
	if code := a.exit(t, 5*time.Second); code != 0 {
		t.Errorf("exit status %d", code)
	}
	// The window, and a second for what is no drain: stopping the bus and the view.
	if took := time.Since(began); took < window/2 || took > window+time.Second {
		t.Errorf("the process took %s to end; the connections are to be closed evenly over %s", took, window)
	}
}
