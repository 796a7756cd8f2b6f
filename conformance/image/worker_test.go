//go:build conformance

package image

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// The same image, with the other entrypoint, is a worker: it carries out what an
// api sends over the bus.
func TestTheImageIsAWorkerToo(t *testing.T) {
	bus := "TIDINGS_NATS_URL=" + startNATS(t)
	_, data := volume(t)
	admin := freePort(t)
	w := start(t, append(data, "-e", bus, "--entrypoint", "/worker"), "--admin", admin)
	w.await(t, "http://"+admin+"/readyz")
	_, data = volume(t)
	s := startAPI(t, append(data, "-e", bus))
	s.until(t, "the worker answers", func() error { return s.write("begin") })
	w.terminate(t)
	w.end(t)
	s.terminate(t)
	s.end(t)
}

// startNATS starts a NATS server with JetStream in this process.
func startNATS(t *testing.T) (url string) {
	t.Helper()
	ns, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(30 * time.Second) {
		t.Fatal("the NATS server does not start")
	}
	return ns.ClientURL()
}
