// Package message makes the message that servers which know no GraphQL send for
// a change: of the same size as the others'.
package message

import "fmt"

// Data is the result of the subscription for a record.
func Data(record []byte) []byte {
	return fmt.Appendf(nil, `{"data":{"userChanged":{"kind":"UPDATED","id":"user-0007","at":"2026-11-20T07:25:22.5Z","cursor":"AbCdEfGh.123456","user":%s}}}`, record)
}

// Next is the same as a message of graphql-transport-ws.
func Next(record []byte) []byte {
	return fmt.Appendf(nil, `{"id":"1","type":"next","payload":%s}`, Data(record))
}
