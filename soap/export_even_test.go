package soap

// Even is what the time is a multiple of in which doubtful messages are refused.
const Even = even
