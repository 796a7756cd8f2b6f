package trace

// The attributes that spans have, by the semantic conventions of OpenTelemetry
// (https://opentelemetry.io/docs/specs/semconv/, GraphQL, HTTP, messaging and RPC).
const (
	ErrorType = "error.type" // the code of a failure

	OperationType = "graphql.operation.type" // query, mutation or subscription
	OperationName = "graphql.operation.name"
	Document      = "graphql.document"

	Method          = "http.request.method"
	MethodOriginal  = "http.request.method_original"
	Route           = "http.route"
	Status          = "http.response.status_code"
	Scheme          = "url.scheme"
	Protocol        = "network.protocol.name"
	ProtocolVersion = "network.protocol.version"

	System              = "messaging.system"
	MessagingType       = "messaging.operation.type" // send or process
	MessagingName       = "messaging.operation.name"
	DestinationTemplate = "messaging.destination.template"
	BatchCount          = "messaging.batch.message_count"

	RPCSystem = "rpc.system.name"
	RPCMethod = "rpc.method"

	// Those of our own.
	RequestID   = "tidings.request.id" // as the log and the client know it
	Sequence    = "tidings.log.sequence"
	Subscribers = "tidings.subscribers" // to whom one result went
	Change      = "tidings.change.kind"
)
