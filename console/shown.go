package console

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// What clients have written is shown within bounds, and secrets are not.

// hidden stands for what is not shown.
const hidden = "•••"

// secret are parts of the names of variables whose values are not shown, in lower
// case and without what stands between words.
var secret = [...]string{
	"password", "passwd", "pwd", "passphrase", "passcode", "secret", "token", "bearer", "jwt", "credential", "authorization",
	"apikey", "accesskey", "privatekey", "signingkey", "encryptionkey", "licensekey", "otp", "cvv", "cvc", "cardnumber", "iban", "ssn",
}

// bareSecret are names of secrets that are also parts of other words.
var bareSecret = [...]string{"key", "keys", "pin"}

func isSecret(name string) bool {
	name = strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(name))
	return slices.Contains(bareSecret[:], name) || slices.ContainsFunc(secret[:], func(part string) bool { return strings.Contains(name, part) })
}

// maxRead is how much of a client's variables is read to show some of it.
const maxRead = 64 << 10

// sent shows variables as a client has sent them.
func sent(variables json.RawMessage) string {
	if len(variables) == 0 || string(variables) == "null" {
		return ""
	}
	var value map[string]any
	d := json.NewDecoder(bytes.NewReader(variables))
	d.UseNumber()
	if len(variables) > maxRead || d.Decode(&value) != nil {
		return "…"
	}
	return shown(value)
}

// shown writes variables as JSON, without secrets.
func shown(variables map[string]any) string {
	if len(variables) == 0 {
		return ""
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(bare(variables)) != nil {
		return "…"
	}
	return clip(strings.TrimSpace(b.String()), maxVariables)
}

// bare is a value with nothing secret in it; what it was made of stays as it was.
func bare(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			if isSecret(name) && member != nil {
				out[name] = hidden
				continue
			}
			out[name] = bare(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = bare(v[i])
		}
		return out
	}
	return value
}

// clip cuts a text at a bound in bytes, between two characters, and says so.
func clip(text string, most int) string {
	if len(text) <= most {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return strings.ToValidUTF8(text[:cut], "\uFFFD") + "…"
}
