package soap

import (
	"mime"
	"strings"
)

// media is what a Content-Type says of an envelope.
type media struct{ kind, charset, action string }

// mediaOf reads a Content-Type. Of a malformed one it returns what can be known,
// and an error.
func mediaOf(contentType string) (media, error) {
	if m, ok := plainMedia(contentType); ok {
		return m, nil
	}
	kind, params, err := mime.ParseMediaType(contentType)
	return media{kind, params["charset"], params["action"]}, err
}

// plainMedia reads what nearly all clients send, a media type of SOAP with at
// most a charset, without making anything.
func plainMedia(contentType string) (m media, ok bool) {
	rest := contentType
	for _, kind := range mediaType {
		if after, found := strings.CutPrefix(contentType, kind); found {
			m.kind, rest = kind, after
		}
	}
	if m.kind == "" || rest == "" {
		return m, m.kind != ""
	}
	rest, found := strings.CutPrefix(rest, ";")
	if !found {
		return media{}, false
	}
	m.charset, found = strings.CutPrefix(strings.TrimLeft(rest, " "), "charset=")
	return m, found && plainToken(m.charset)
}

// plainToken reports whether a value is one that stands without quotes.
func plainToken(s string) bool {
	for _, c := range []byte(s) {
		if letter := c|0x20 >= 'a' && c|0x20 <= 'z'; !letter && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}
