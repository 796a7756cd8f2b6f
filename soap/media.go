package soap

import (
	"cmp"
	"mime"
	"strings"
)

// media is what a Content-Type says of an envelope.
type media struct{ kind, charset, action string }

// mediaOf reads a Content-Type; of a malformed one, what can be known.
func mediaOf(contentType string) media {
	if m, ok := plainMedia(contentType); ok {
		return m
	}
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return looseMedia(contentType)
	}
	return media{kind, params["charset"], params["action"]}
}

// looseMedia reads a Content-Type whose parameters are not as RFC 2045 wants them:
// an action without quotes, or a charset without a value, as some clients write.
func looseMedia(contentType string) (m media) {
	kind, rest, _ := strings.Cut(contentType, ";")
	m.kind = strings.ToLower(strings.TrimSpace(kind))
	for param := range strings.SplitSeq(rest, ";") {
		name, value, _ := strings.Cut(param, "=")
		value = strings.Trim(strings.TrimSpace(value), `"`)
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "charset":
			m.charset = cmp.Or(m.charset, value)
		case "action":
			m.action = cmp.Or(m.action, value)
		}
	}
	return m
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
