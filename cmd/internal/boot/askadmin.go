package boot

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
)

// AdminFlag is what a command says of its flag --admin.
func AdminFlag(whose string) string {
	return "`address` " + whose + ", where its admin port answers (TIDINGS_ADMIN, or without it localhost:9090)"
}

// AdminURL is where the admin port of a process on this machine answers: at the
// address that is given, or without one at that of the settings of the program.
func AdminURL(program, admin string, environ []string) (string, error) {
	if admin == "" {
		c, err := ReadConfig(program, nil, environ, func(string, ...any) {})
		if err != nil {
			return "", err
		}
		admin = c.Admin
	}
	host, port, err := net.SplitHostPort(admin)
	if err != nil {
		return "", fmt.Errorf("the admin address %q: %w; name it with --admin", admin, err)
	}
	if host == "" || net.ParseIP(host).IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port), nil
}

// AskAdmin sends an order to a URL of an admin port, and returns what it answers:
// of its body the first 4 KiB.
func AskAdmin(ctx context.Context, url string, order any) (status int, text []byte, err error) {
	data, err := json.Marshal(order)
	if err != nil {
		return 0, nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, fmt.Errorf("%w; run it where a process of the service has its admin port, or name that with --admin", err)
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	return resp.StatusCode, text, err
}
