package revoke

// Decode is decode.
var Decode = decode
