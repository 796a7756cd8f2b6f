// Package wssec checks and makes what the header wsse:Security of a message says:
// signatures, encryption, time. It knows no operation and no account: whose
// certificate is believed, and what its owner is allowed, it is told.
//
// It works on the tree that the message is carried out from (xmltree), never on
// a second reading of the bytes, so that what a signature covers is, node for
// node, what is meant.
//
// Specifications: OASIS Web Services Security 1.1.1 (SOAP Message Security, X.509
// Certificate Token Profile), WS-I Basic Security Profile 1.1, XML Signature 1.1,
// Exclusive XML Canonicalization 1.0, XML Encryption 1.1 (AES-GCM, AES-CBC, RSA).
package wssec

import "fmt"

// The namespaces of the header and of what stands in it.
const (
	SecurityNS  = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
	Security11  = "http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd"
	UtilityNS   = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
	SignatureNS = "http://www.w3.org/2000/09/xmldsig#"
	xencNS      = "http://www.w3.org/2001/04/xmlenc#"
)

// Code is one of the fault codes of WS-Security, as answers write it.
type Code string

// The codes, each with the one situation it stands for.
const (
	InvalidSecurity          Code = "wsse:InvalidSecurity"          // the header is malformed, or lacks what is required
	InvalidSecurityToken     Code = "wsse:InvalidSecurityToken"     // a token cannot be read
	UnsupportedSecurityToken Code = "wsse:UnsupportedSecurityToken" // a token of a kind that is not known here
	UnsupportedAlgorithm     Code = "wsse:UnsupportedAlgorithm"     // an algorithm that is not known or not allowed
	TokenUnavailable         Code = "wsse:SecurityTokenUnavailable" // a reference leads to no token
	FailedAuthentication     Code = "wsse:FailedAuthentication"     // the sender is not believed
	FailedCheck              Code = "wsse:FailedCheck"              // a signature is wrong, or something cannot be decrypted
	MessageExpired           Code = "wsse:MessageExpired"           // the Timestamp is too old
)

// Error is why a message is refused. The reason is for the log: an answer shows
// the code alone, since reasons tell a forger what to try next.
type Error struct {
	Code   Code
	Reason string
	Err    error // the cause, or nil
}

// Error returns the code and the reason: the text for the log.
func (e *Error) Error() string {
	if e.Err != nil {
		return string(e.Code) + ": " + e.Reason + ": " + e.Err.Error()
	}
	return string(e.Code) + ": " + e.Reason
}

// Unwrap returns the cause, nil when there is none.
func (e *Error) Unwrap() error { return e.Err }

func refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Reason: fmt.Sprintf(format, args...)}
}
