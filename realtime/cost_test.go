package realtime_test

import (
	"net/http"
	"strings"
	"testing"
)

const toldCost = `"cost":{"actual":2,"estimated":2,"max":1000}`

func TestAnEventStreamAsksForTheCostByHeader(t *testing.T) {
	t.Parallel()
	p := pods(t, 1)[0]
	e := get(t, p.url, http.Header{"Tidings-Cost": {"1"}}, "query", postChanged)
	eventually(t, "it subscribes", func() bool { return p.engine.Stats().Sinks == 1 })
	p.write(t, "Fish")
	if ev, err := e.next(); err != nil || !strings.Contains(ev.data, toldCost) {
		t.Errorf("got %+v %v", ev, err)
	}
}

func TestASocketAsksForTheCostInTheExtensionsOfSubscribe(t *testing.T) {
	t.Parallel()
	p := pods(t, 1)[0]
	c := connect(t, p.url, "")
	c.send(`{"id":"1","type":"subscribe","payload":{"query":"` + postChanged + `","extensions":{"cost":true}}}`)
	eventually(t, "it subscribes", func() bool { return p.engine.Stats().Sinks == 1 })
	p.write(t, "Fish")
	if data, err := c.read(); err != nil || !strings.Contains(string(data), toldCost) {
		t.Errorf("got %s %v", data, err)
	}
}
