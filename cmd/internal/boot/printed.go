package boot

import (
	"net/url"
	"regexp"
	"strings"
)

// print prints what is in force, and where each value comes from.
func (c *Config) print(from map[string]string, print func(string, ...any)) {
	for _, s := range c.settings() {
		print("%-45s # %s\n", s.name+"="+s.shown(), from[s.name])
	}
}

const masked = "****"

// shown is the value as everybody may see it: of a secret nothing but the servers
// that it names, of others no passwords in URLs.
func (s setting) shown() string {
	text := s.text()
	if s.secret && !strings.Contains(text, "://") {
		if text != "" {
			text = masked
		}
		return text
	}
	items := strings.Split(text, ",")
	for i, item := range items {
		if s.secret || strings.Contains(item, "://") {
			items[i] = maskURL(item)
		}
	}
	return strings.Join(items, ",")
}

// maskURL hides in a URL who comes, and what its query says of secrets. What
// cannot be read as a URL is hidden as a whole.
func maskURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || strings.Contains(u.Host, "@") {
		return masked
	}
	if u.User != nil {
		scheme, rest, _ := strings.Cut(text, "://")
		authority := rest[:strings.IndexAny(rest+"/", "/?#")]
		text = scheme + "://" + masked + rest[strings.LastIndex(authority, "@"):]
	}
	return passwords.ReplaceAllString(text, "${1}"+masked)
}

var passwords = regexp.MustCompile(`(?i)([?&][a-z_]*(?:password|token|secret|key)=)[^&]*`)
