// Package soapcallers drives the SOAP binding of the real binary, over TLS, with
// clients that others wrote, in every way in which they say who they are: zeep,
// PHP's SoapClient and npm's soap. The tests need the build tag conformance,
// Python, PHP, Node and npm.
package soapcallers
