package edge

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidings/auth"
	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/schema"
)

const (
	anything = `{"query":"{ __typename }"}`
	envelope = `<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" xmlns:t="urn:tidings:v1:SocialService"><soap:Body><t:GetUser><t:id>ada</t:id></t:GetUser></soap:Body></soap:Envelope>`
)

func tokenOf(t *testing.T, who string, roles schema.Roles) string {
	t.Helper()
	token, err := auth.Sign([]byte(secret), auth.Principal{Subject: who, Roles: roles}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return "Authorization: Bearer " + token
}

// flood asks until it is refused, and returns how often it was not.
func (s *service) flood(t *testing.T, headers ...string) int {
	t.Helper()
	for n := range 200 {
		if resp, _ := s.call(t, "POST", "/graphql", anything, headers...); resp.StatusCode == http.StatusTooManyRequests {
			return n
		}
	}
	return 200
}

func TestMoreThan100RequestsAMinuteAreRefusedWithRetryAfter(t *testing.T) {
	t.Parallel()
	s := newService(t)
	ada := tokenOf(t, "ada", schema.User)
	if n := s.flood(t, ada); n < 100 || n > 120 { // some come back meanwhile
		t.Errorf("%d requests passed", n)
	}
	for _, accept := range []string{"application/json", "application/graphql-response+json"} {
		resp, body := s.call(t, "POST", "/graphql", anything, ada, "Accept: "+accept)
		if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "1" || !strings.Contains(body, `"code":"RATE_LIMITED"`) || !strings.HasPrefix(resp.Header.Get("Content-Type"), accept) {
			t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
		}
	}
	if resp, _ := s.call(t, "POST", "/graphql", anything, tokenOf(t, "ben", schema.User)); resp.StatusCode != 200 {
		t.Errorf("another caller pays for it: %d", resp.StatusCode)
	}
}

func TestAnonymousCallersAreCountedByAddressBehindTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	const rate = "--rate-anonymous=5"
	direct := newService(t, rate)
	for i := range 5 {
		direct.call(t, "POST", "/graphql", anything, fmt.Sprintf("X-Forwarded-For: 192.0.2.%d", i))
	}
	if n := direct.flood(t, "X-Forwarded-For: 192.0.2.77"); n > 0 {
		t.Errorf("a claim of another address is believed: %d requests passed", n)
	}
	proxied := newService(t, rate, "--trusted-proxies", "127.0.0.0/8,::1")
	for i := range 3 {
		if n := proxied.flood(t, fmt.Sprintf("X-Forwarded-For: 10.0.0.1, 192.0.2.%d", i)); n != 5 {
			t.Errorf("client %d: %d requests passed", i, n)
		}
	}
}

func TestSOAPCallsCountWithTheOthers(t *testing.T) {
	t.Parallel()
	s := newService(t, "--rate-anonymous=2/1000")
	call := func() (*http.Response, string) {
		return s.call(t, "POST", "/v1/SocialService", envelope, "Content-Type: text/xml; charset=utf-8")
	}
	for range 2 {
		if _, body := call(); strings.Contains(body, "RATE_LIMITED") || !strings.Contains(body, "Envelope") {
			t.Errorf("within the rate: %s", body)
		}
	}
	resp, body := call()
	if resp.StatusCode != 500 || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "RATE_LIMITED") {
		t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
	}
	if n := s.flood(t); n > 0 {
		t.Errorf("%d requests passed beside the SOAP calls", n)
	}
}

func TestEveryRefusalOfTheRateSaysWhenToComeAgain(t *testing.T) {
	t.Parallel()
	s := newService(t, "--rate-anonymous=1")
	s.call(t, "POST", "/graphql", anything)
	later := regexp.MustCompile(`(?:"retryAfter":|<tns:retryAfterSeconds>)([0-9]+)`)
	for name, c := range map[string]struct {
		method, path, body, header string
		inBody                     bool // there is no header: the stream was open before
	}{
		"POST":             {"POST", "/graphql", anything, "Accept: application/json", false},
		"GET":              {"GET", "/graphql?query=%7B__typename%7D", "", "Accept: application/graphql-response+json", false},
		"an event stream":  {"POST", "/graphql", anything, "Accept: text/event-stream", true},
		"its subscription": {"POST", "/graphql", `{"query":"subscription { userChanged { id } }"}`, "Accept: text/event-stream", true},
		"SOAP":             {"POST", "/v1/SocialService", envelope, "Content-Type: text/xml; charset=utf-8", false},
	} {
		resp, body := s.call(t, c.method, c.path, c.body, c.header)
		told := later.FindStringSubmatch(body)
		if !strings.Contains(body, "RATE_LIMITED") || told == nil {
			t.Errorf("%s: %s", name, body)
			continue
		}
		if n, _ := strconv.Atoi(told[1]); n < 20 || n > 60 {
			t.Errorf("%s: come again in %s s", name, told[1])
		}
		if !c.inBody && resp.Header.Get("Retry-After") != told[1] {
			t.Errorf("%s: Retry-After: %q, in the body %s", name, resp.Header.Get("Retry-After"), told[1])
		}
	}
}

func TestRatesAreOffInDevelopmentUnlessTheyAreSet(t *testing.T) {
	t.Parallel()
	if n := newService(t, "--dev").flood(t); n != 200 {
		t.Errorf("%d requests passed", n)
	}
	if n := newService(t, "--dev", "--rate-anonymous", "3").flood(t); n != 3 {
		t.Errorf("%d requests passed", n)
	}
}

func TestMeasuringRefusesNothingAndTellsTheLog(t *testing.T) {
	t.Parallel()
	s := newService(t, "--limits=measure", "--rate-anonymous=3", "--cost-anonymous=5", "--max-depth=2")
	for range 5 {
		resp, body := s.call(t, "POST", "/graphql", `{"query":"{ users { nodes { id } } }"}`)
		if resp.StatusCode != 200 || strings.Contains(body, "errors") {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
	}
	for _, want := range []string{"beyond the rate limit", "beyond its cost limit", "beyond the depth limit"} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("%q is not in the log", want)
		}
	}
}

func TestTheCostIsToldWhenAskedFor(t *testing.T) {
	t.Parallel()
	s := newService(t)
	_, body := s.call(t, "POST", "/graphql", `{"query":"{ users { nodes { id } } }"}`, "Tidings-Cost: 1")
	if !strings.HasSuffix(body, `"extensions":{"cost":{"actual":1,"estimated":21,"max":1000}}}`) {
		t.Error(body)
	}
}

// pod is an edge beside others on one bus.
func pod(t *testing.T, url string, args ...string) *service {
	t.Helper()
	return serviceOf(t, []string{"TIDINGS_NATS_URL=" + url}, append([]string{"--view", t.TempDir()}, args...))
}

func TestThreePodsCountTogetherWithinASecond(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	pods := []*service{pod(t, server.URL()), pod(t, server.URL()), pod(t, server.URL())}
	for i, from := range pods {
		who := tokenOf(t, fmt.Sprint("caller ", i), schema.User)
		if n := from.flood(t, who); n < 100 || n > 120 {
			t.Errorf("%d requests passed", n)
		}
		start := time.Now()
		tick := time.NewTicker(20 * time.Millisecond) // too seldom to reach the rate by itself
		defer tick.Stop()
		for _, other := range pods {
			for range tick.C {
				if resp, _ := other.call(t, "POST", "/graphql", anything, who); resp.StatusCode == http.StatusTooManyRequests {
					break
				}
				if time.Since(start) > 10*time.Second {
					t.Fatal("a pod does not know what the others count")
				}
			}
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("the others knew after %v", took)
		}
	}
}

func TestAStartWarnsOfAContractThatCanChange(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../examples/social/schema.graphql")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "social")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "schema.graphql"), text, 0o600)); err != nil {
		t.Fatal(err)
	}
	const named, unlocked = "name it by TIDINGS_SERVICE", "api soap lock --schema"
	for _, c := range []struct {
		args            []string
		named, unlocked bool
	}{
		{[]string{"--schema", dir}, true, true},
		{[]string{"--schema", dir, "--service=Mine"}, false, true},
		{[]string{"--schema", dir, "--dev"}, false, false},
		{nil, false, false}, // which is locked
	} {
		log := newService(t, c.args...).log.String()
		if strings.Contains(log, named) != c.named || strings.Contains(log, unlocked) != c.unlocked || c.named && !strings.Contains(log, "SocialService") {
			t.Errorf("%v: want %v of a name, %v of a lock:\n%s", c.args, c.named, c.unlocked, log)
		}
	}
}

func TestIntrospectionSaysThePageThatIsConfigured(t *testing.T) {
	t.Parallel()
	s := newService(t, "--max-page=50")
	_, body := s.call(t, "POST", "/graphql", `{"query":"{ __type(name: \"Query\") { fields { description } } }"}`, tokenOf(t, "root", schema.Admin))
	if !strings.Contains(body, "at most 50;") || strings.Contains(body, "at most 100") {
		t.Error(body)
	}
}
