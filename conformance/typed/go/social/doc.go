// Package social is the client of a contract, made by genqlient.
package social

//go:generate go tool genqlient
