package edge

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"tidings/bus"
	"tidings/bus/bustest"
	"tidings/internal/proc"
	"tidings/schema"
)

// live is a caller's connection that ends when its token is revoked.
type live struct {
	name  string
	ended chan string // how
}

const watchUsers = `{"query":"subscription { userChanged { kind } }"}`

func (s *service) socket(t *testing.T, token string) live {
	t.Helper()
	w := s.dial(t, nil)
	w.send(`{"type":"connection_init","payload":{"authToken":"` + token + `"}}`)
	w.expect("connection_ack")
	w.send(`{"id":"1","type":"subscribe","payload":` + watchUsers + `}`)
	l := live{"a socket", make(chan string, 1)}
	go func() {
		_, _, err := w.ReadMessage()
		l.ended <- fmt.Sprint(err)
	}()
	return l
}

func (s *service) stream(t *testing.T, name, method, target, body string, headers ...string) live {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	for _, line := range headers {
		k, v, _ := strings.Cut(line, ": ")
		r.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	l := live{name, make(chan string, 1)}
	go func() {
		var last string
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if text := lines.Text(); text != "" && text != ":" {
				last += text + "\n"
			}
		}
		l.ended <- last
	}()
	return l
}

func (s *service) connections(t *testing.T, token string) []live {
	t.Helper()
	header := "Authorization: Bearer " + token
	_, ticket := s.call(t, "PUT", "/graphql", "", header)
	return []live{
		s.socket(t, token),
		s.stream(t, "an event stream", "POST", "/graphql", watchUsers, header),
		s.stream(t, "a single event stream", "GET", "/graphql?token="+ticket, ""),
	}
}

// soap calls with a token.
func (s *service) soap(t *testing.T, token string) string {
	t.Helper()
	_, body := s.call(t, "POST", "/v1/SocialService", envelope, "Content-Type: text/xml; charset=utf-8", "Authorization: Bearer "+token)
	return body
}

func TestARevocationCountsOnThreePodsWithinASecond(t *testing.T) {
	t.Parallel()
	server := bustest.Open(t, bus.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	pods := []*service{pod(t, server.URL()), pod(t, server.URL()), pod(t, server.URL())}
	admin := pods[0].admin(t)
	fastest := time.Hour
	for name, c := range map[string]struct {
		sub, jti, flag, value string
		issued                time.Duration // so long ago
	}{
		"by id":              {"ada", "t1", "--jti", "t1", 0},
		"by subject":         {"ben", "t2", "--sub", "ben", 0},
		"by when it is from": {"cid", "t3", "--before", time.Now().Add(-time.Hour).Format(time.RFC3339), 2 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
				"sub": c.sub, "jti": c.jti, "roles": "USER", "iat": time.Now().Add(-c.issued).Unix(), "exp": time.Now().Add(time.Hour).Unix(),
			}).SignedString([]byte(secret))
			if err != nil {
				t.Fatal(err)
			}
			others := tokenOf(t, "eve", schema.User)
			var all []live
			for _, p := range pods {
				if resp, body := p.post(t, anything, "Authorization: Bearer "+token); resp.StatusCode != 200 {
					t.Fatalf("%d %s", resp.StatusCode, body)
				}
				if body := p.soap(t, token); strings.Contains(body, "UNAUTHENTICATED") {
					t.Fatal(body)
				}
				all = append(all, p.connections(t, token)...)
			}
			witness := pods[1].connections(t, strings.TrimPrefix(others, "Authorization: Bearer "))
			start := time.Now()
			if err := run(t.Context(), []string{"revoke", c.flag, c.value, "--admin", admin}, nil, io.Discard, io.Discard); err != nil {
				t.Fatal(err)
			}
			for _, p := range pods {
				for {
					if resp, _ := p.post(t, anything, "Authorization: Bearer "+token); resp.StatusCode == http.StatusUnauthorized {
						break
					}
					if time.Since(start) > 20*time.Second {
						t.Fatal("a pod takes the token")
					}
				}
			}
			for _, p := range pods { // whose call any worker takes
				if body := p.soap(t, token); !strings.Contains(body, "UNAUTHENTICATED") {
					t.Errorf("SOAP: %s", body)
				}
			}
			for _, l := range all {
				select {
				case how := <-l.ended:
					if !strings.Contains(how, "4403") || !strings.Contains(how, "the token was revoked") {
						t.Errorf("%s ended by %q", l.name, how)
					}
				case <-time.After(20 * time.Second):
					t.Errorf("%s goes on", l.name)
				}
			}
			fastest = min(fastest, time.Since(start))
			for _, l := range witness {
				select {
				case how := <-l.ended:
					t.Errorf("%s of another caller ended by %q", l.name, how)
				default:
				}
			}
		})
	}
	if fastest > time.Second {
		t.Errorf("it took %v", fastest)
	}
}

// admin runs the admin port of the service and returns its address.
func (s *service) admin(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	log := slog.New(slog.DiscardHandler)
	go func() { done <- proc.Admin(ctx, log, l, s.edge.ready, s.edge.rooms.Routes()...) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func TestTheCommandSaysWhatIsWrongWithARevocation(t *testing.T) {
	t.Parallel()
	admin := newService(t).admin(t)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"nothing":        {nil, "nothing says which tokens"},
		"no time":        {[]string{"--before", "today"}, "is no time"},
		"two things":     {[]string{"--jti", "1", "--sub", "ada"}, "400"},
		"far ahead":      {[]string{"--before", "2999-01-01T12:00:00Z"}, "nobody could come in"},
		"nobody listens": {[]string{"--jti", "1", "--admin", "127.0.0.1:1"}, "name that with --admin"},
	} {
		args := append([]string{"revoke", "--admin", admin}, c.args...)
		if err := run(t.Context(), args, nil, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+admin+"/revoke", strings.NewReader(`{"jti":"1"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "https://evil.example")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a web page revokes: %d", resp.StatusCode)
	}
}
