// Package pages is the client of a contract, made by genqlient.
package pages

//go:generate go tool genqlient

// Money is the contract's scalar of this name.
type Money struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}
