// Package boot is what the programs wire alike: it reads the configuration and
// builds the rooms that the edge and the worker share. It decides nothing about
// which process does what.
package boot

import (
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Config is everything that can be set from outside. Each field has a
// variable and a flag; the flag wins. Secrets have variables only, and each of
// these a twin NAME_FILE that names a file which holds the value. The fields stand
// in groups, the first of which names it. The help, docs/configuration.md and the
// refusal of bad values are made of their tags:
//
//	env         name of the variable, without TIDINGS_
//	flag        name of the flag; none for a secret
//	secret      true: it is not shown, and may come from a file
//	envDefault  what is in force when nothing is set
//	dev         what is in force in development when nothing is set
//	form        what it looks like (see forms), where the type does not say it
//	allow       which values are good: see allowance
//	for         api: it has no effect in a worker
//	help        what it does
//	group       heads it and those after it
type Config struct {
	program string // the command that people type, for remedies; no setting

	Schema      string `env:"SCHEMA" flag:"schema" envDefault:"." form:"dir" help:"directory of the *.graphql files" group:"Schema and data"`
	Dev         bool   `env:"DEV" flag:"dev" help:"development mode: a signing key and accounts of its own, introspection for all"`
	Data        string `env:"DATA" flag:"data" envDefault:"data" form:"dir" help:"directory of the embedded log and of this process's view"`
	Flawed      bool   `env:"ALLOW_FLAWED" flag:"allow-flawed" help:"start although stored records do not fit the schema: docs/schema.md, Changing a schema"`
	Profiles    bool   `env:"PPROF" flag:"pprof" help:"serve profiles of the Go runtime at the admin address, /debug/pprof/, to programs on the same machine"`
	MemoryLimit int64  `env:"MEMORY_LIMIT" flag:"memory-limit" envDefault:"0" form:"bytes" allow:"-1 0 16777216.." help:"bytes that the Go runtime keeps within, as long as what is in use allows; 0: what GOMEMLIMIT says, or else 90 % of what the container may have; -1: no limit"`
	Console     bool   `env:"CONSOLE" flag:"console" dev:"true" help:"serve the operators' console at the admin address of each api, /console, to tokens with the role ADMIN, and let the consoles of other processes see this one: docs/console.md"`
	LogLevel    string `env:"LOG_LEVEL" flag:"log-level" envDefault:"info" form:"word" allow:"debug info warn error" help:"what is logged"`

	Listen           string        `env:"LISTEN" flag:"listen" envDefault:":8080" form:"address" for:"api" help:"address for GraphQL and SOAP" group:"Addresses, TLS and proxies"`
	Admin            string        `env:"ADMIN" flag:"admin" envDefault:":9090" dev:"127.0.0.1:9090" form:"address" help:"address for /livez /readyz /startupz /metrics; empty for none"`
	PublicURL        string        `env:"PUBLIC_URL" flag:"public-url" form:"url" for:"api" help:"how clients reach the service, for the WSDL; default http://localhost:<port>, or https"`
	Origins          string        `env:"ORIGINS" flag:"origins" form:"list" for:"api" help:"origins of web pages that may call and open sockets, comma separated, or *; default: the same origin"`
	TLSCert          string        `env:"TLS_CERT" flag:"tls-cert" form:"file" for:"api" help:"file of the certificate (PEM, with those between it and its authority) for TLS on the public address; read again when it changes"`
	TLSKey           string        `env:"TLS_KEY" flag:"tls-key" form:"file" for:"api" help:"file of its key (PEM)"`
	TLSClientAuth    string        `env:"TLS_CLIENT_AUTH" flag:"tls-client-auth" envDefault:"none" form:"word" allow:"none optional require" for:"api" help:"whether clients show certificates of their own"`
	TLSClientCA      string        `env:"TLS_CLIENT_CA" flag:"tls-client-ca" form:"file" for:"api" help:"file of the authorities (PEM) that must have issued those; none: the accounts alone say which are good"`
	HSTS             time.Duration `env:"HSTS" flag:"hsts" envDefault:"0s" allow:"0 1s.." for:"api" help:"how long browsers are to come by TLS alone to the host, once it has answered over TLS, on all its ports (RFC 6797); 0: nothing is said"`
	Proxies          string        `env:"TRUSTED_PROXIES" flag:"trusted-proxies" form:"list" for:"api" help:"networks of the proxies in front, whose X-Forwarded-For is believed, comma separated: 10.0.0.0/8"`
	ClientCertHeader string        `env:"CLIENT_CERT_HEADER" flag:"client-cert-header" form:"name" for:"api" help:"header in which these proxies tell the certificate of their client, such as Client-Cert (RFC 9440) or X-Forwarded-Client-Cert; believed from them alone"`

	NATSURL          string        `env:"NATS_URL" secret:"true" form:"list" help:"servers of the bus, comma separated; none: one is embedded, and api is the worker too" group:"Bus, log and view"`
	NATSListen       string        `env:"NATS_LISTEN" flag:"nats-listen" form:"address" for:"api" help:"address where the embedded bus takes other clients, who must show what the settings below say; without any, a loopback address; empty for none"`
	NATSUser         string        `env:"NATS_USER" flag:"nats-user" form:"name" help:"user at the bus"`
	NATSPassword     string        `env:"NATS_PASSWORD" secret:"true" help:"the user's password"`
	NATSPasswordFile string        `env:"NATS_PASSWORD_FILE" flag:"nats-password-file" form:"file" help:"file of the password; this and the files that follow are read again at each connect, and when they change"`
	NATSToken        string        `env:"NATS_TOKEN" secret:"true" help:"a token instead of user and password"`
	NATSTokenFile    string        `env:"NATS_TOKEN_FILE" flag:"nats-token-file" form:"file" help:"file of the token"`
	NATSCreds        string        `env:"NATS_CREDS" flag:"nats-creds" form:"file" help:"file of a JWT with its seed, as nsc writes it"`
	NATSNKey         string        `env:"NATS_NKEY" flag:"nats-nkey" form:"file" help:"file of the seed of an NKey"`
	NATSCA           string        `env:"NATS_CA" flag:"nats-ca" form:"file" help:"file of the authorities (PEM) that must have issued the certificate of the bus; with an embedded one, those of its clients"`
	NATSCert         string        `env:"NATS_CERT" flag:"nats-cert" form:"file" help:"file of a certificate (PEM) to show the bus; with an embedded one, that of the bus"`
	NATSKey          string        `env:"NATS_KEY" flag:"nats-key" form:"file" help:"file of its key (PEM)"`
	NATSServerName   string        `env:"NATS_SERVER_NAME" flag:"nats-server-name" form:"name" help:"name that the certificate of the bus must have; default: the host of the URL"`
	NATSInbox        string        `env:"NATS_INBOX" flag:"nats-inbox" help:"first part of the subjects of answers; default: _INBOX_<prefix>_<role>, as deploy/nats has it"`
	NATSSilence      time.Duration `env:"NATS_SILENCE" flag:"nats-silence" envDefault:"10s" allow:"2s..2m" help:"how long the bus may leave this process without an answer to its pings; then the connection is taken for lost, and another server is tried: docs/nats.md"`
	AllowUnsafe      string        `env:"ALLOW_UNSAFE" flag:"allow-unsafe" form:"list" help:"what a start would refuse and is to let pass, comma separated: docs/nats.md"`
	SyncAlways       bool          `env:"SYNC_ALWAYS" flag:"sync-always" for:"api" help:"force each message of the embedded log to the disk, at a tenth of the speed: survives a power cut"`
	Prefix           string        `env:"PREFIX" flag:"prefix" envDefault:"tidings" form:"name" help:"first token of every subject"`
	Replicas         int           `env:"REPLICAS" flag:"replicas" envDefault:"1" allow:"1..5" help:"copies of the log in a cluster of servers"`
	LogMaxBytes      int64         `env:"LOG_MAX_BYTES" flag:"log-max-bytes" envDefault:"0" form:"bytes" allow:"0 1048576.." help:"bytes of the log, on each server that keeps it, when it is created (docs/nats.md, Size); a full one refuses changes; 0: as many as there is room for"`
	History          int64         `env:"HISTORY" flag:"history" envDefault:"64" allow:"1.." help:"changes that the log keeps of each record"`
	View             string        `env:"VIEW" flag:"view" form:"dir" help:"directory of this process's view; default: <data>/view with an embedded bus, else a temporary one"`
	ViewURL          string        `env:"VIEW_URL" secret:"true" form:"url" help:"URL of a PostgreSQL database whose view all processes share, and workers fill (docs/operations.md); none: each process has its own"`
	ViewMemory       int           `env:"VIEW_MEMORY" flag:"view-memory" envDefault:"64" form:"mib" allow:"0..1048576" help:"MiB of records and pages that are kept in memory because they are read again; 0 for none"`
	ViewSnapshots    time.Duration `env:"VIEW_SNAPSHOTS" flag:"view-snapshots" envDefault:"1h" allow:"0 1m.." help:"how often a worker stores a snapshot of its view in the bus, once 100,000 changes have come, for processes that begin without a file; 0: none are made nor used"`

	EraseAfter time.Duration `env:"ERASE_AFTER" flag:"erase-after" envDefault:"168h" allow:"0 1s.." help:"how long the log keeps what a deleted record was, for those who were away; 0: as long as any history"`

	Retry time.Duration `env:"RETRY" flag:"retry" envDefault:"15s" allow:"0..30s" for:"api" help:"how long commands and SOAP calls wait for a worker, when none is there or it was lost, and are sent again; mutations may take as much longer; 0: not at all"`

	JWTSecret   string        `env:"JWT_SECRET" secret:"true" help:"secret of HS256 tokens, at least 32 bytes" group:"Tokens"`
	JWTKeys     string        `env:"JWT_KEYS" secret:"true" form:"pem" help:"public keys of RS256, ES256 and EdDSA tokens, as PEM"`
	JWTJWKS     string        `env:"JWT_JWKS" flag:"jwt-jwks" form:"url" help:"https URL or file of a key set that verifies tokens and may rotate"`
	JWTRefresh  time.Duration `env:"JWT_REFRESH" flag:"jwt-refresh" envDefault:"10m" allow:"1m.." help:"how often key sets are read again"`
	JWTIssuer   string        `env:"JWT_ISSUER" flag:"jwt-issuer" help:"issuer that tokens must name"`
	JWTAudience string        `env:"JWT_AUDIENCE" flag:"jwt-audience" help:"audience that tokens must name"`
	JWTLeeway   time.Duration `env:"JWT_LEEWAY" flag:"jwt-leeway" envDefault:"30s" allow:"0..5m" help:"by how much clocks may differ"`
	JWTClaim    string        `env:"JWT_ROLES_CLAIM" flag:"jwt-roles-claim" envDefault:"roles" form:"name" help:"claim of a token that holds the roles"`
	JWTRoles    string        `env:"JWT_ROLES" flag:"jwt-roles" form:"list" help:"what values of that claim grant: admin=ADMIN,notes:write=USER; default: the roles' own names"`
	JWTIssuers  string        `env:"JWT_ISSUERS" secret:"true" form:"json" help:"further makers of tokens, as JSON: docs/auth.md"`
	RevokedAge  time.Duration `env:"REVOKED_AGE" flag:"revoked-age" envDefault:"720h" allow:"1m.." help:"how long revoked tokens are remembered: longer than any token lives"`

	Service        string `env:"SERVICE" flag:"service" form:"name" help:"name of the SOAP service; default: that of the locks beside the schema, or the directory's name and Service" group:"SOAP"`
	SOAPVersion    string `env:"SOAP_VERSION" flag:"soap-version" form:"name" help:"version of the SOAP contract that the schema makes; default: the newest one that is locked beside it, or v1"`
	SOAPAction     string `env:"SOAP_ACTION" flag:"soap-action" envDefault:"match" form:"word" allow:"match require ignore" help:"what SOAPAction must say: match (nothing, or the body's operation), require (the body's operation) or ignore"`
	SOAPPartial    string `env:"SOAP_PARTIAL" flag:"soap-partial" form:"word" allow:"header fault" help:"errors below a SOAP result: header (the result, and a header that lists them) or fault; default: header for mutations, fault for queries"`
	SOAPTo         string `env:"SOAP_TO" flag:"soap-to" form:"list" for:"api" help:"further base URLs, or names, comma separated, that a signed wsa:To may have beside the public URL; * for any"`
	MaxEnvelope    int    `env:"SOAP_MAX_ENVELOPE" flag:"soap-max-envelope" envDefault:"1048576" form:"bytes" allow:"1024..16777216" help:"bytes of a SOAP envelope, as it comes and unpacked"`
	TrustTransport bool   `env:"TRUST_TRANSPORT" flag:"trust-transport" help:"a proxy in front ends TLS, so passwords of SOAP callers may come over plain HTTP"`
	AccountsFile   string `env:"ACCOUNTS_FILE" flag:"accounts" form:"file" help:"file of the accounts for SOAP, read again when it changes"`
	Accounts       string `env:"ACCOUNTS" secret:"true" help:"the accounts themselves: JSON, or lines of name:hash:ROLE,ROLE[:subject]: docs/auth.md"`
	SOAPCA         string `env:"SOAP_CA" flag:"soap-ca" form:"file" help:"file of the authorities (PEM) whose certificates accounts may name by issuer and subject; read again when it changes"`
	SOAPKey        string `env:"SOAP_KEY" flag:"soap-key" form:"file" help:"file of the private keys (PEM) that SOAP messages may be encrypted for, and the first of which signs answers to signed ones; read again when it changes"`
	SOAPCert       string `env:"SOAP_CERT" flag:"soap-cert" form:"file" help:"file of their certificates (PEM)"`
	ReplayBytes    int64  `env:"SOAP_REPLAY_BYTES" flag:"soap-replay-bytes" envDefault:"134217728" form:"bytes" allow:"1048576.." help:"bytes for the digests and signatures of SOAP callers that must not come twice, of 12 minutes; then more are refused"`

	JobsAge        time.Duration `env:"JOBS_AGE" flag:"jobs-age" envDefault:"24h" allow:"1m.." help:"how long what is submitted as a job is kept, its results too" group:"Jobs of SOAP callers"`
	JobsBytes      int64         `env:"JOBS_BYTES" flag:"jobs-bytes" envDefault:"268435456" form:"bytes" allow:"1048576.." help:"how many bytes of jobs; at half of it new ones are refused"`
	JobsUnfinished int           `env:"JOBS_UNFINISHED" flag:"jobs-unfinished" envDefault:"10" allow:"1.." help:"jobs of one caller that are not finished"`

	Limits        string        `env:"LIMITS" flag:"limits" envDefault:"enforce" form:"word" allow:"enforce measure" help:"enforce; or measure: the log tells what is too deep, too dear or too often, and nothing of it is refused" group:"Limits of one operation"`
	MaxDepth      int           `env:"MAX_DEPTH" flag:"max-depth" envDefault:"10" allow:"-1 1.." help:"levels of fields of an operation; -1 for no limit, here and below"`
	MaxTokens     int           `env:"MAX_TOKENS" flag:"max-tokens" envDefault:"15000" allow:"-1 1.." help:"tokens of a document"`
	MaxAliases    int           `env:"MAX_ALIASES" flag:"max-aliases" envDefault:"30" allow:"-1 1.." help:"aliased fields of an operation"`
	MaxRoots      int           `env:"MAX_ROOTS" flag:"max-roots" envDefault:"20" allow:"-1 1.." help:"root fields of an operation"`
	MaxBody       int           `env:"MAX_BODY" flag:"max-body" envDefault:"1048576" form:"bytes" allow:"1.." for:"api" help:"bytes of a request's body, and of a socket's message"`
	MaxPage       int           `env:"MAX_PAGE" flag:"max-page" envDefault:"100" allow:"-1 1.." help:"greatest first, last and limit"`
	MaxSnapshot   int           `env:"MAX_SNAPSHOT" flag:"max-snapshot" envDefault:"10000" allow:"-1 1.." for:"api" help:"records that a subscription may begin with"`
	MaxItems      int           `env:"MAX_ITEMS" flag:"max-items" allow:"-1.." help:"items of each list in arguments; 0: 1000, and for what a mutation writes what the schema says"`
	MaxText       int           `env:"MAX_TEXT" flag:"max-text" form:"bytes" allow:"-1.." help:"bytes of each text in arguments; 0: 65536, and for what a mutation writes what the schema says"`
	MaxTime       time.Duration `env:"MAX_TIME" flag:"max-time" envDefault:"10s" allow:"1ms.." help:"how long one execution may take"`
	CostAnonymous int           `env:"COST_ANONYMOUS" flag:"cost-anonymous" envDefault:"1000" allow:"-1 1.." help:"what one operation of an anonymous caller may cost"`
	CostUser      int           `env:"COST_USER" flag:"cost-user" envDefault:"10000" allow:"-1 1.." help:"what one operation of a user may cost"`
	CostService   int           `env:"COST_SERVICE" flag:"cost-service" envDefault:"100000" allow:"-1 1.." help:"what one operation of a service may cost"`

	RateAnonymous string `env:"RATE_ANONYMOUS" flag:"rate-anonymous" envDefault:"100/100000" dev:"0" form:"rate" help:"requests/cost a minute for each address; 0 for no limit" group:"Rates"`
	RateUser      string `env:"RATE_USER" flag:"rate-user" envDefault:"100/100000" dev:"0" form:"rate" help:"the same for each user"`
	RateService   string `env:"RATE_SERVICE" flag:"rate-service" envDefault:"100/100000" dev:"0" form:"rate" help:"the same for each service"`
	RatePasswords string `env:"RATE_PASSWORDS" flag:"rate-passwords" envDefault:"10/100" form:"rate" help:"wrong passwords of SOAP a minute: from each address/for each account; 0 for no limit"`

	MaxRequests int `env:"MAX_REQUESTS" flag:"max-requests" envDefault:"0" dev:"-1" allow:"-1.." for:"api" help:"queries that are at work at once; as many more wait half a second, then they are refused with 503. Mutations and SOAP calls may be eight times as many. 0: 128 for each CPU; -1: no limit" group:"Overload"`

	MaxSockets       int           `env:"MAX_SOCKETS" flag:"max-sockets" envDefault:"100" dev:"-1" allow:"-1 1.." for:"api" help:"sockets and event streams of one caller on each process" group:"Sockets and event streams"`
	MaxAddress       int           `env:"MAX_SOCKETS_ADDRESS" flag:"max-sockets-address" envDefault:"1000" dev:"-1" allow:"-1 1.." for:"api" help:"sockets and event streams from one address on each process"`
	MaxConnections   int           `env:"MAX_CONNECTIONS" flag:"max-connections" envDefault:"20000" allow:"-1 1.." for:"api" help:"sockets and event streams of a process; at the bound /readyz says 503"`
	MaxConnectionAge time.Duration `env:"MAX_CONNECTION_AGE" flag:"max-connection-age" envDefault:"0s" allow:"0 1s.." for:"api" help:"how old sockets and event streams get, at least half of it, so that clients spread over the processes; 0: as old as they like"`
	MaxMessages      int           `env:"MAX_MESSAGES" flag:"max-messages" envDefault:"100" allow:"-1 1.." for:"api" help:"messages a second from one socket"`
	MaxOperations    int           `env:"MAX_OPERATIONS" flag:"max-operations" envDefault:"100" allow:"1.." for:"api" help:"operations that run on one socket"`
	MaxQueue         int           `env:"MAX_QUEUE" flag:"max-queue" envDefault:"1048576" form:"bytes" allow:"1.." for:"api" help:"bytes that wait for one slow client before it is cut off"`
	InitTimeout      time.Duration `env:"INIT_TIMEOUT" flag:"init-timeout" envDefault:"10s" allow:"1ms.." for:"api" help:"how long a socket may take to send connection_init"`
	DrainDelay       time.Duration `env:"DRAIN_DELAY" flag:"drain-delay" envDefault:"5s" dev:"0s" allow:"0.." for:"api" help:"from the signal until the first socket is closed"`
	DrainWindow      time.Duration `env:"DRAIN_WINDOW" flag:"drain-window" envDefault:"30s" dev:"1s" allow:"0.." for:"api" help:"in which the open sockets are closed"`

	Operations       string        `env:"OPERATIONS" flag:"operations" form:"dir" for:"api" help:"directory of persisted operations: *.graphql files and manifests (docs/operations.md)" group:"Persisted operations, caches and idempotency"`
	PersistedOnly    bool          `env:"PERSISTED_ONLY" flag:"persisted-only" for:"api" help:"run persisted operations and no others"`
	APQ              bool          `env:"APQ" flag:"apq" envDefault:"true" help:"clients may register documents by their first request; never with persisted-only"`
	APQAge           time.Duration `env:"APQ_AGE" flag:"apq-age" envDefault:"168h" allow:"1m.." help:"how long such documents are kept"`
	APQBytes         int64         `env:"APQ_BYTES" flag:"apq-bytes" envDefault:"33554432" form:"bytes" allow:"1048576.." help:"how many bytes of them; then the oldest are forgotten"`
	CacheMaxAge      time.Duration `env:"CACHE_MAX_AGE" flag:"cache-max-age" envDefault:"0s" allow:"0.." for:"api" help:"how long shared caches may keep answers that everybody may see; 0: they ask whether they changed"`
	IdempotencyAge   time.Duration `env:"IDEMPOTENCY_AGE" flag:"idempotency-age" envDefault:"24h" allow:"1m.." help:"how long a mutation with an idempotency key gets its first answer"`
	IdempotencyBytes int64         `env:"IDEMPOTENCY_BYTES" flag:"idempotency-bytes" envDefault:"268435456" form:"bytes" allow:"1048576.." help:"how many bytes of such answers; then new keys are refused"`

	OTLPEndpoint   string `env:"OTLP_ENDPOINT" flag:"otlp-endpoint" form:"url" help:"receiver of traces by OTLP over HTTP, such as http://collector:4318 (docs/telemetry.md); default: what OTEL_EXPORTER_OTLP_ENDPOINT says, or none" group:"Traces"`
	TraceSample    string `env:"TRACE_SAMPLE" flag:"trace-sample" envDefault:"0.01" form:"part" help:"which part of the requests is traced, unless whoever sent them has decided"`
	TraceDocuments bool   `env:"TRACE_DOCUMENTS" flag:"trace-documents" help:"traces hold the documents of operations, with whatever clients write into them"`
}

// list splits a setting at its commas.
func list(s string) []string {
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return slices.DeleteFunc(parts, func(p string) bool { return p == "" })
}

// AllowedOrigins are the origins of Config.Origins.
func (c Config) AllowedOrigins() []string { return list(c.Origins) }

// ServiceName is the SOAP service's name: as configured, or that of the newest
// lock, or the schema directory's name and "Service", such as SocialService.
func (c Config) ServiceName() string {
	if c.Service != "" {
		return c.Service
	}
	if locks, err := c.Locks(); err == nil && len(locks) > 0 {
		return locks[len(locks)-1].Service
	}
	dir, err := filepath.Abs(c.Schema)
	if err != nil {
		return "Service"
	}
	letters := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, filepath.Base(dir))
	letters = strings.TrimLeft(letters, "0123456789")
	if letters == "" {
		return "Service"
	}
	return strings.ToUpper(letters[:1]) + letters[1:] + "Service"
}
