package schema_test

import (
	"strings"
	"testing"

	"tidings/schema"
)

func TestAResourceSaysWhatBecomesOfSlowSubscribers(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]schema.Slow{``: schema.SlowClose, `(onSlow: CLOSE)`: schema.SlowClose, `(onSlow: LATEST)`: schema.SlowLatest, `(plural: "things")`: schema.SlowClose} {
		if got := load(t, `type Thing @resource`+args+` { id: ID! a: Int }`).Resource("Thing").OnSlow; got != want {
			t.Errorf("%s: %v", args, got)
		}
	}
}

func TestASubscriptionSaysWhatBecomesOfItsSlowSubscribers(t *testing.T) {
	t.Parallel()
	m := load(t, `
type Fast @resource { id: ID! a: Int }
type Gauge @resource(onSlow: LATEST) { id: ID! a: Int }
type Price { symbol: String! id: ID value: Float }
type Tick { symbol: String! }
interface Named { id: ID! }
union Any = Price | Tick
type Query { one: Int @busRequest(subject: "one") }
type Subscription {
  fastChanged(id: ID): FastChange! @onSlow(policy: LATEST)
  gaugeChanged: GaugeChange! @onSlow(policy: CLOSE)
  all: Price @busSubscribe(subject: "a.b")
  byID: Price @busSubscribe(subject: "a.b", onSlow: LATEST)
  bySymbol: Price @busSubscribe(subject: "a.b", onSlow: LATEST, key: "symbol")
  ticks: Tick @busSubscribe(subject: "a.b", onSlow: LATEST)
  named: Named @busSubscribe(subject: "a.b", onSlow: LATEST)
  any: Any @busSubscribe(subject: "a.b", onSlow: LATEST)
  list: [Price!] @busSubscribe(subject: "a.b", onSlow: LATEST)
  count: Int @busSubscribe(subject: "a.b", onSlow: LATEST, key: null)
  changes: GaugeChange @busSubscribe(subject: "a.b", onSlow: LATEST)
}`)
	for name, want := range map[string]schema.Slow{"fastChanged": schema.SlowLatest, "gaugeChanged": schema.SlowClose} {
		if got := m.Root("Subscription", name).OnSlow; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for name, want := range map[string]string{"byID": "id", "bySymbol": "symbol", "ticks": "", "named": "id", "any": "", "list": "", "count": "", "changes": "id"} {
		if b := m.Binding("Subscription", name); b.OnSlow != schema.SlowLatest || b.Key != want {
			t.Errorf("%s: %v by %q", name, b.OnSlow, b.Key)
		}
	}
	if b := m.Binding("Subscription", "all"); b.OnSlow != schema.SlowClose || b.Key != "" {
		t.Errorf("all: %v by %q", b.OnSlow, b.Key)
	}
}

// Whoever reads the contract, or compares two, does not learn how slow clients
// are served: nothing changes for those who keep up.
func TestTheContractDoesNotTellOfSlowSubscribers(t *testing.T) {
	t.Parallel()
	const text = `
type Gauge @resource { id: ID! a: Int }
type Price { symbol: String! }
type Subscription {
  gaugeChanged: GaugeChange! @onSlow(policy: LATEST)
  prices: Price @busSubscribe(subject: "a.b", onSlow: LATEST, key: "symbol")
}`
	with, without := load(t, text), load(t, strings.NewReplacer(` @onSlow(policy: LATEST)`, "", `, onSlow: LATEST, key: "symbol"`, "").Replace(text))
	if with.SDL != without.SDL || with.Fingerprint != without.Fingerprint || strings.Contains(with.SDL, "low") {
		t.Errorf("the contracts differ:\n%s\n%s", with.SDL, without.SDL)
	}
}
