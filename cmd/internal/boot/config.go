// Package boot is what both mains wire alike: it reads the configuration and
// builds the rooms that the edge and the worker share. It decides nothing about
// which process does what. It is the door for caarlos0/env.
package boot

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// Config is everything that can be set from outside. Each field has a
// variable and a flag; the flag wins. Secrets have variables only, and each of
// these a twin NAME_FILE that names a file which holds the value. The fields stand
// in groups, the first of which names it: so the help shows them.
type Config struct {
	Schema   string `env:"SCHEMA" flag:"schema" envDefault:"." help:"directory of the *.graphql files" group:"Schema and data"`
	Dev      bool   `env:"DEV" flag:"dev" help:"development mode: a signing key and accounts of its own, introspection for all"`
	Data     string `env:"DATA" flag:"data" envDefault:"data" help:"directory of the embedded log and of this process's view"`
	Flawed   bool   `env:"ALLOW_FLAWED" flag:"allow-flawed" help:"start although stored records do not fit the schema: docs/schema.md, Changing a schema"`
	LogLevel string `env:"LOG_LEVEL" flag:"log-level" envDefault:"info" help:"debug, info, warn or error"`

	Listen           string `env:"LISTEN" flag:"listen" envDefault:":8080" help:"address for GraphQL and SOAP (api)" group:"Addresses, TLS and proxies"`
	Admin            string `env:"ADMIN" flag:"admin" envDefault:":9090" help:"address for /livez /readyz /startupz /metrics; empty for none"`
	PublicURL        string `env:"PUBLIC_URL" flag:"public-url" help:"how clients reach the service, for the WSDL; default http://localhost:<port>, or https"`
	Origins          string `env:"ORIGINS" flag:"origins" help:"origins of web pages that may call and open sockets, comma separated, or *; default: the same origin"`
	TLSCert          string `env:"TLS_CERT" flag:"tls-cert" help:"file of the certificate (PEM, with those between it and its authority) for TLS on the public address; read again when it changes"`
	TLSKey           string `env:"TLS_KEY" flag:"tls-key" help:"file of its key (PEM)"`
	TLSClientAuth    string `env:"TLS_CLIENT_AUTH" flag:"tls-client-auth" envDefault:"none" help:"whether clients show certificates of their own: none, optional or require"`
	TLSClientCA      string `env:"TLS_CLIENT_CA" flag:"tls-client-ca" help:"file of the authorities (PEM) that must have issued those; none: the accounts alone say which are good"`
	Proxies          string `env:"TRUSTED_PROXIES" flag:"trusted-proxies" help:"networks of the proxies in front, whose X-Forwarded-For is believed, comma separated: 10.0.0.0/8"`
	ClientCertHeader string `env:"CLIENT_CERT_HEADER" flag:"client-cert-header" help:"header in which these proxies tell the certificate of their client, such as Client-Cert (RFC 9440) or X-Forwarded-Client-Cert; believed from them alone"`

	NATSURL          string        `env:"NATS_URL" secret:"true" help:"servers of the bus, comma separated; none: one is embedded, and api is the worker too" group:"Bus, log and view"`
	NATSListen       string        `env:"NATS_LISTEN" flag:"nats-listen" help:"address where the embedded bus takes other clients, who must show what the settings below say; without any, a loopback address; empty for none"`
	NATSUser         string        `env:"NATS_USER" flag:"nats-user" help:"user at the bus"`
	NATSPassword     string        `env:"NATS_PASSWORD" secret:"true" help:"the user's password"`
	NATSPasswordFile string        `env:"NATS_PASSWORD_FILE" flag:"nats-password-file" help:"file of the password; this and the files that follow are read again at each connect, and when they change"`
	NATSToken        string        `env:"NATS_TOKEN" secret:"true" help:"a token instead of user and password"`
	NATSTokenFile    string        `env:"NATS_TOKEN_FILE" flag:"nats-token-file" help:"file of the token"`
	NATSCreds        string        `env:"NATS_CREDS" flag:"nats-creds" help:"file of a JWT with its seed, as nsc writes it"`
	NATSNKey         string        `env:"NATS_NKEY" flag:"nats-nkey" help:"file of the seed of an NKey"`
	NATSCA           string        `env:"NATS_CA" flag:"nats-ca" help:"file of the authorities (PEM) that must have issued the certificate of the bus; with an embedded one, those of its clients"`
	NATSCert         string        `env:"NATS_CERT" flag:"nats-cert" help:"file of a certificate (PEM) to show the bus; with an embedded one, that of the bus"`
	NATSKey          string        `env:"NATS_KEY" flag:"nats-key" help:"file of its key (PEM)"`
	NATSServerName   string        `env:"NATS_SERVER_NAME" flag:"nats-server-name" help:"name that the certificate of the bus must have; default: the host of the URL"`
	NATSInbox        string        `env:"NATS_INBOX" flag:"nats-inbox" help:"first part of the subjects of answers; default: _INBOX_<prefix>_<role>, as deploy/nats has it"`
	AllowUnsafe      string        `env:"ALLOW_UNSAFE" flag:"allow-unsafe" help:"what a start would refuse and is to let pass, comma separated: docs/nats.md"`
	SyncAlways       bool          `env:"SYNC_ALWAYS" flag:"sync-always" help:"force each message of the embedded log to the disk, at a tenth of the speed: survives a power cut"`
	Prefix           string        `env:"PREFIX" flag:"prefix" envDefault:"tidings" help:"first token of every subject"`
	Replicas         int           `env:"REPLICAS" flag:"replicas" envDefault:"1" help:"copies of the log in a cluster of servers"`
	LogMaxBytes      int64         `env:"LOG_MAX_BYTES" flag:"log-max-bytes" envDefault:"0" help:"bytes of the log, on each server that keeps it, when it is created (docs/nats.md, Size); a full one refuses changes; 0: as many as there is room for"`
	History          int64         `env:"HISTORY" flag:"history" envDefault:"64" help:"changes that the log keeps of each record"`
	View             string        `env:"VIEW" flag:"view" help:"directory of this process's view; default: <data>/view with an embedded bus, else a temporary one"`
	ViewURL          string        `env:"VIEW_URL" secret:"true" help:"URL of a PostgreSQL database whose view all processes share, and workers fill (docs/operations.md); none: each process has its own"`
	ViewMemory       int           `env:"VIEW_MEMORY" flag:"view-memory" envDefault:"64" help:"MiB of records and pages that are kept in memory because they are read again; 0 for none"`
	ViewSnapshots    time.Duration `env:"VIEW_SNAPSHOTS" flag:"view-snapshots" envDefault:"1h" help:"how often a worker stores a snapshot of its view in the bus, once 100,000 changes have come, for processes that begin without a file; 0: none are made nor used"`

	EraseAfter time.Duration `env:"ERASE_AFTER" flag:"erase-after" envDefault:"168h" help:"how long the log keeps what a deleted record was, for those who were away; 0: as long as any history"`

	Retry time.Duration `env:"RETRY" flag:"retry" envDefault:"15s" help:"how long commands and SOAP calls wait for a worker, when none is there or it was lost, and are sent again; mutations may take as much longer; 0: not at all"`

	JWTSecret   string        `env:"JWT_SECRET" secret:"true" help:"secret of HS256 tokens, at least 32 bytes" group:"Tokens"`
	JWTKeys     string        `env:"JWT_KEYS" secret:"true" help:"public keys of RS256, ES256 and EdDSA tokens, as PEM"`
	JWTJWKS     string        `env:"JWT_JWKS" flag:"jwt-jwks" help:"https URL or file of a key set that verifies tokens and may rotate"`
	JWTRefresh  time.Duration `env:"JWT_REFRESH" flag:"jwt-refresh" envDefault:"10m" help:"how often key sets are read again"`
	JWTIssuer   string        `env:"JWT_ISSUER" flag:"jwt-issuer" help:"issuer that tokens must name"`
	JWTAudience string        `env:"JWT_AUDIENCE" flag:"jwt-audience" help:"audience that tokens must name"`
	JWTLeeway   time.Duration `env:"JWT_LEEWAY" flag:"jwt-leeway" envDefault:"30s" help:"by how much clocks may differ"`
	JWTClaim    string        `env:"JWT_ROLES_CLAIM" flag:"jwt-roles-claim" envDefault:"roles" help:"claim of a token that holds the roles"`
	JWTRoles    string        `env:"JWT_ROLES" flag:"jwt-roles" help:"what values of that claim grant: admin=ADMIN,notes:write=USER; default: the roles' own names"`
	JWTIssuers  string        `env:"JWT_ISSUERS" secret:"true" help:"further makers of tokens, as JSON: docs/auth.md"`
	RevokedAge  time.Duration `env:"REVOKED_AGE" flag:"revoked-age" envDefault:"720h" help:"how long revoked tokens are remembered: longer than any token lives"`

	Service        string `env:"SERVICE" flag:"service" help:"name of the SOAP service; default: that of the locks beside the schema, or the directory's name and Service" group:"SOAP"`
	SOAPVersion    string `env:"SOAP_VERSION" flag:"soap-version" help:"version of the SOAP contract that the schema makes; default: the newest one that is locked beside it, or v1"`
	SOAPAction     string `env:"SOAP_ACTION" flag:"soap-action" envDefault:"match" help:"what SOAPAction must say: match (nothing, or the body's operation), require (the body's operation) or ignore"`
	SOAPPartial    string `env:"SOAP_PARTIAL" flag:"soap-partial" help:"errors below a SOAP result: header (the result, and a header that lists them) or fault; default: header for mutations, fault for queries"`
	SOAPTo         string `env:"SOAP_TO" flag:"soap-to" help:"further base URLs, or names, comma separated, that a signed wsa:To may have beside the public URL; * for any"`
	MaxEnvelope    int    `env:"SOAP_MAX_ENVELOPE" flag:"soap-max-envelope" envDefault:"1048576" help:"bytes of a SOAP envelope, as it comes and unpacked; at most 16777216"`
	TrustTransport bool   `env:"TRUST_TRANSPORT" flag:"trust-transport" help:"a proxy in front ends TLS, so passwords of SOAP callers may come over plain HTTP"`
	AccountsFile   string `env:"ACCOUNTS_FILE" flag:"accounts" help:"file of the accounts for SOAP, read again when it changes"`
	Accounts       string `env:"ACCOUNTS" secret:"true" help:"the accounts themselves: JSON, or lines of name:hash:ROLE,ROLE[:subject]: docs/auth.md"`
	SOAPCA         string `env:"SOAP_CA" flag:"soap-ca" help:"file of the authorities (PEM) whose certificates accounts may name by issuer and subject; read again when it changes"`
	SOAPKey        string `env:"SOAP_KEY" flag:"soap-key" help:"file of the private keys (PEM) that SOAP messages may be encrypted for, and the first of which signs answers to signed ones; read again when it changes"`
	SOAPCert       string `env:"SOAP_CERT" flag:"soap-cert" help:"file of their certificates (PEM)"`
	ReplayBytes    int64  `env:"SOAP_REPLAY_BYTES" flag:"soap-replay-bytes" envDefault:"134217728" help:"bytes for the digests and signatures of SOAP callers that must not come twice, of 12 minutes; then more are refused"`

	JobsAge        time.Duration `env:"JOBS_AGE" flag:"jobs-age" envDefault:"24h" help:"how long what is submitted as a job is kept, its results too" group:"Jobs of SOAP callers"`
	JobsBytes      int64         `env:"JOBS_BYTES" flag:"jobs-bytes" envDefault:"268435456" help:"how many bytes of jobs; at half of it new ones are refused"`
	JobsUnfinished int           `env:"JOBS_UNFINISHED" flag:"jobs-unfinished" envDefault:"10" help:"jobs of one caller that are not finished"`

	Limits        string        `env:"LIMITS" flag:"limits" envDefault:"enforce" help:"enforce, or measure: the log tells what is too deep, too dear or too often, and nothing of it is refused" group:"Limits of one operation"`
	MaxDepth      int           `env:"MAX_DEPTH" flag:"max-depth" envDefault:"10" help:"levels of fields of an operation; -1 for no limit, here and below"`
	MaxTokens     int           `env:"MAX_TOKENS" flag:"max-tokens" envDefault:"15000" help:"tokens of a document"`
	MaxAliases    int           `env:"MAX_ALIASES" flag:"max-aliases" envDefault:"30" help:"aliased fields of an operation"`
	MaxRoots      int           `env:"MAX_ROOTS" flag:"max-roots" envDefault:"20" help:"root fields of an operation"`
	MaxBody       int           `env:"MAX_BODY" flag:"max-body" envDefault:"1048576" help:"bytes of a request's body, and of a socket's message"`
	MaxPage       int           `env:"MAX_PAGE" flag:"max-page" envDefault:"100" help:"greatest first, last and limit"`
	MaxSnapshot   int           `env:"MAX_SNAPSHOT" flag:"max-snapshot" envDefault:"10000" help:"records that a subscription may begin with"`
	MaxItems      int           `env:"MAX_ITEMS" flag:"max-items" help:"items of each list in arguments (1000; set, it holds for what a mutation writes too)"`
	MaxText       int           `env:"MAX_TEXT" flag:"max-text" help:"bytes of each text in arguments (65536; set, it holds for what a mutation writes too)"`
	MaxTime       time.Duration `env:"MAX_TIME" flag:"max-time" envDefault:"10s" help:"how long one execution may take"`
	CostAnonymous int           `env:"COST_ANONYMOUS" flag:"cost-anonymous" envDefault:"1000" help:"what one operation of an anonymous caller may cost"`
	CostUser      int           `env:"COST_USER" flag:"cost-user" envDefault:"10000" help:"what one operation of a user may cost"`
	CostService   int           `env:"COST_SERVICE" flag:"cost-service" envDefault:"100000" help:"what one operation of a service may cost"`

	RateAnonymous string `env:"RATE_ANONYMOUS" flag:"rate-anonymous" help:"requests/cost a minute for each address; 0 for no limit (100/100000; none in development)" group:"Rates"`
	RateUser      string `env:"RATE_USER" flag:"rate-user" help:"the same for each user"`
	RateService   string `env:"RATE_SERVICE" flag:"rate-service" help:"the same for each service"`
	RatePasswords string `env:"RATE_PASSWORDS" flag:"rate-passwords" envDefault:"10/100" help:"wrong passwords of SOAP a minute: from each address/for each account; 0 for no limit"`

	MaxSockets       int           `env:"MAX_SOCKETS" flag:"max-sockets" help:"sockets and event streams of one caller on each process (100; no limit in development)" group:"Sockets and event streams"`
	MaxAddress       int           `env:"MAX_SOCKETS_ADDRESS" flag:"max-sockets-address" help:"sockets and event streams from one address on each process (1000; no limit in development)"`
	MaxConnections   int           `env:"MAX_CONNECTIONS" flag:"max-connections" envDefault:"20000" help:"sockets and event streams of a process; at the bound /readyz says 503"`
	MaxConnectionAge time.Duration `env:"MAX_CONNECTION_AGE" flag:"max-connection-age" envDefault:"0s" help:"how old sockets and event streams get, at least half of it, so that clients spread over the processes; 0: as old as they like"`
	MaxMessages      int           `env:"MAX_MESSAGES" flag:"max-messages" envDefault:"100" help:"messages a second from one socket"`
	MaxOperations    int           `env:"MAX_OPERATIONS" flag:"max-operations" envDefault:"100" help:"operations that run on one socket"`
	MaxQueue         int           `env:"MAX_QUEUE" flag:"max-queue" envDefault:"1048576" help:"bytes that wait for one slow client before it is cut off"`
	InitTimeout      time.Duration `env:"INIT_TIMEOUT" flag:"init-timeout" envDefault:"10s" help:"how long a socket may take to send connection_init"`
	DrainDelay       time.Duration `env:"DRAIN_DELAY" flag:"drain-delay" envDefault:"5s" help:"from the signal until the first socket is closed; none in development"`
	DrainWindow      time.Duration `env:"DRAIN_WINDOW" flag:"drain-window" envDefault:"30s" help:"in which the open sockets are closed; 1s in development"`

	Operations       string        `env:"OPERATIONS" flag:"operations" help:"directory of registered operations: *.graphql files and manifests (docs/operations.md)" group:"Registered operations, caches and idempotency"`
	RegisteredOnly   bool          `env:"REGISTERED_ONLY" flag:"registered-only" help:"run registered operations and no others"`
	APQ              bool          `env:"APQ" flag:"apq" envDefault:"true" help:"clients may register documents by their first request; never with registered-only"`
	APQAge           time.Duration `env:"APQ_AGE" flag:"apq-age" envDefault:"168h" help:"how long such documents are kept"`
	APQBytes         int64         `env:"APQ_BYTES" flag:"apq-bytes" envDefault:"33554432" help:"how many bytes of them; then the oldest are forgotten"`
	CacheMaxAge      time.Duration `env:"CACHE_MAX_AGE" flag:"cache-max-age" envDefault:"0s" help:"how long shared caches may keep answers that everybody may see; 0: they ask whether they changed"`
	IdempotencyAge   time.Duration `env:"IDEMPOTENCY_AGE" flag:"idempotency-age" envDefault:"24h" help:"how long a mutation with an idempotency key gets its first answer"`
	IdempotencyBytes int64         `env:"IDEMPOTENCY_BYTES" flag:"idempotency-bytes" envDefault:"268435456" help:"how many bytes of such answers; then new keys are refused"`
}

// prefix of all variables.
const prefix = "TIDINGS_"

// ErrHelp says that the caller asked for help or for the configuration, and
// that it was printed.
var ErrHelp = flag.ErrHelp

// ReadConfig reads the variables, then the flags. Unknown names are refused:
// a setting that is misspelt must not be silently without effect.
func ReadConfig(program string, args, environ []string, print func(format string, a ...any)) (Config, error) {
	var c Config
	vars, err := variables(environ)
	if err != nil {
		return c, err
	}
	if err := env.ParseWithOptions(&c, env.Options{Prefix: prefix, Environment: vars}); err != nil {
		return c, fmt.Errorf("read the environment: %w", err)
	}
	c.emptied(vars)
	set := c.flags()
	printConfig := set.Bool("print-config", false, "print the configuration, secrets masked, and end")
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			c.usage(program, print)
			return c, ErrHelp
		}
		return c, fmt.Errorf("%w; see %s --help", err, program)
	}
	if set.NArg() > 0 {
		return c, fmt.Errorf("unknown argument %q; see %s --help", set.Arg(0), program)
	}
	if *printConfig {
		c.print(print)
		return c, ErrHelp
	}
	c.hurry(set, vars)
	return c, c.check()
}

// hurry drains fast in development, where nobody wants to wait for Ctrl-C,
// unless it was said how fast.
func (c *Config) hurry(set *flag.FlagSet, vars map[string]string) {
	given := map[string]bool{}
	set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, s := range c.settings() {
		_, given[s.name] = vars[s.name]
	}
	if c.Dev && !given["drain-delay"] && !given[prefix+"DRAIN_DELAY"] {
		c.DrainDelay = 0
	}
	if c.Dev && !given["drain-window"] && !given[prefix+"DRAIN_WINDOW"] {
		c.DrainWindow = time.Second
	}
}

// emptied takes a text that is set to nothing at its word: the library would
// put the default in its place.
func (c *Config) emptied(vars map[string]string) {
	for _, s := range c.settings() {
		if value, given := vars[s.name]; given && value == "" && s.value.Kind() == reflect.String {
			s.value.SetString("")
		}
	}
}

// check refuses values that cannot be meant.
func (c *Config) check() error {
	for _, rule := range []struct {
		good   bool
		remedy string
	}{
		{c.Replicas >= 1 && c.Replicas <= 5, "TIDINGS_REPLICAS must be from 1 to 5"},
		{c.ViewMemory >= 0 && c.ViewMemory <= 1<<20, "TIDINGS_VIEW_MEMORY must be from 0 to 1048576 MiB"},
		{c.LogMaxBytes == 0 || c.LogMaxBytes >= 1<<20, "TIDINGS_LOG_MAX_BYTES must be 0 or at least 1048576"},
		{c.History >= 1, "TIDINGS_HISTORY must be at least 1: the last change of a record is its state"},
		{c.EraseAfter == 0 || c.EraseAfter >= time.Second, "TIDINGS_ERASE_AFTER must be 0 or at least 1s, such as 168h"},
		{c.Retry >= 0 && c.Retry <= 30*time.Second, "TIDINGS_RETRY must be from 0 to 30s: clients do not wait longer"},
		{c.JWTLeeway >= 0 && c.JWTLeeway <= 5*time.Minute, "TIDINGS_JWT_LEEWAY must be from 0 to 5m"},
		{c.RevokedAge >= time.Minute, "TIDINGS_REVOKED_AGE must be at least 1m, and longer than any token lives"},
		{c.ViewSnapshots == 0 || c.ViewSnapshots >= time.Minute, "TIDINGS_VIEW_SNAPSHOTS must be 0 or at least 1m, such as 1h"},
		{c.InitTimeout >= time.Millisecond, "TIDINGS_INIT_TIMEOUT must be at least 1ms, such as 10s"},
		{c.JWTRefresh >= time.Minute, "TIDINGS_JWT_REFRESH must be at least 1m: a token with an unknown key causes a refresh anyhow"},
		{c.APQAge >= time.Minute && c.IdempotencyAge >= time.Minute, "TIDINGS_APQ_AGE and TIDINGS_IDEMPOTENCY_AGE must be at least 1m"},
		{c.APQBytes >= 1<<20 && c.IdempotencyBytes >= 1<<20, "TIDINGS_APQ_BYTES and TIDINGS_IDEMPOTENCY_BYTES must be at least 1048576"},
		{c.ReplayBytes >= 1<<20, "TIDINGS_SOAP_REPLAY_BYTES must be at least 1048576"},
		{c.JobsAge >= time.Minute && c.JobsBytes >= 1<<20 && c.JobsUnfinished >= 1, "TIDINGS_JOBS_AGE must be at least 1m, TIDINGS_JOBS_BYTES 1048576, and TIDINGS_JOBS_UNFINISHED 1"},
		{c.CacheMaxAge >= 0, "TIDINGS_CACHE_MAX_AGE must not be negative"},
		{c.MaxConnectionAge == 0 || c.MaxConnectionAge >= time.Second, "TIDINGS_MAX_CONNECTION_AGE must be 0 or at least 1s, such as 1h"},
		{c.DrainDelay >= 0 && c.DrainWindow >= 0, "TIDINGS_DRAIN_DELAY and TIDINGS_DRAIN_WINDOW must not be negative"},
		{c.MaxEnvelope >= 1<<10 && c.MaxEnvelope <= 16<<20, "TIDINGS_SOAP_MAX_ENVELOPE must be from 1024 to 16777216"},
		{c.Accounts == "" || c.AccountsFile == "", "TIDINGS_ACCOUNTS and TIDINGS_ACCOUNTS_FILE (--accounts) are both set; remove one"},
		{c.Schema != "", "TIDINGS_SCHEMA must name the directory of the *.graphql files"},
		{c.Prefix != "" && !strings.ContainsAny(c.Prefix, ".*> \t"), "TIDINGS_PREFIX must be one token of a subject: no dots, blanks and wildcards"},
	} {
		if !rule.good {
			return errors.New(rule.remedy)
		}
	}
	return errors.Join(c.checkViewURL(), checkOrigins(c.AllowedOrigins()), c.checkLimits(), c.checkTLS(), c.checkSOAPKeys(), c.checkNATS())
}

// setting is one field of Config with its tags.
type setting struct {
	name, flag, help, fallback string
	group                      string // heads it and those after it; empty: the one before
	secret                     bool
	value                      reflect.Value
}

func (c *Config) settings() []setting {
	v := reflect.ValueOf(c).Elem()
	var list []setting
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		name, _, _ := strings.Cut(tag.Get("env"), ",")
		list = append(list, setting{
			name: prefix + name, flag: tag.Get("flag"), help: tag.Get("help"), group: tag.Get("group"),
			fallback: tag.Get("envDefault"), secret: tag.Get("secret") != "", value: v.Field(i),
		})
	}
	return list
}

// variables picks ours from the environment, reads the files that NAME_FILE
// names, and refuses what no setting is called.
func variables(environ []string) (map[string]string, error) {
	secrets := map[string]bool{}
	for _, s := range new(Config).settings() {
		secrets[s.name] = s.secret
	}
	vars := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		base, isFile := strings.CutSuffix(name, "_FILE")
		_, known := secrets[name]
		isFile = isFile && secrets[base] && !known
		if !known && !isFile {
			if serviceLink.MatchString(name) {
				continue
			}
			return nil, fmt.Errorf("unknown variable %s; see --help for those that exist", name)
		}
		if isFile {
			content, err := os.ReadFile(value)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			name, value = base, strings.TrimSpace(string(content))
		}
		if _, twice := vars[name]; twice {
			return nil, fmt.Errorf("%s and %s_FILE are both set; remove one", name, name)
		}
		if secrets[name] && value == "" {
			return nil, fmt.Errorf("%s is set to nothing; give it a value or remove it", name)
		}
		vars[name] = value
	}
	return vars, nil
}

// serviceLink matches what Kubernetes puts into the environment of every pod
// for a Service whose name begins with ours.
var serviceLink = regexp.MustCompile(`^TIDINGS_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

func (c *Config) flags() *flag.FlagSet {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(discard{})
	for _, s := range c.settings() {
		if s.flag == "" {
			continue
		}
		switch p := s.value.Addr().Interface().(type) {
		case *string:
			set.StringVar(p, s.flag, *p, s.help)
		case *bool:
			set.BoolVar(p, s.flag, *p, s.help)
		case *int:
			set.IntVar(p, s.flag, *p, s.help)
		case *int64:
			set.Int64Var(p, s.flag, *p, s.help)
		case *time.Duration:
			set.DurationVar(p, s.flag, *p, s.help)
		}
	}
	set.Usage = func() {}
	return set
}

func (c *Config) print(print func(string, ...any)) {
	for _, s := range c.settings() {
		value := fmt.Sprint(s.value.Interface())
		if s.secret && value != "" {
			value = "****"
		}
		print("%s=%s\n", s.name, value)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

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
