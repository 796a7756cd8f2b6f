package trace

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// destination is where spans go.
type destination struct {
	url     string
	host    string // as the log tells it
	headers http.Header
	timeout time.Duration // of one try
	every   time.Duration // how long a span waits for others at most
	gzip    bool
	client  *http.Client
}

// path is where a receiver of OTLP over HTTP takes traces.
const path = "/v1/traces"

// standard reads the variables that all programs with OpenTelemetry have: one for
// traces goes before the one for everything
// (https://opentelemetry.io/docs/specs/otel/protocol/exporter/).
func standard(o Options, name string) string {
	if v := strings.TrimSpace(o.Getenv("OTEL_EXPORTER_OTLP_TRACES_" + name)); v != "" {
		return v
	}
	return strings.TrimSpace(o.Getenv("OTEL_EXPORTER_OTLP_" + name))
}

// destinationOf returns nil when nothing says where spans go, or that they go nowhere.
func destinationOf(o Options) (*destination, error) {
	where := o.Endpoint
	if where == "" {
		where = strings.TrimSpace(o.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	}
	if where != "" {
		where = strings.TrimSuffix(strings.TrimSuffix(where, "/"), path) + path
	}
	if given := strings.TrimSpace(o.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")); given != "" && o.Endpoint == "" {
		where = given
	}
	if where == "" || strings.EqualFold(o.Getenv("OTEL_SDK_DISABLED"), "true") || o.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil
	}
	u, err := url.Parse(where)
	if err == nil && u.User != nil {
		return nil, errors.New("the URL of the receiver of traces has a password in it: put credentials into OTEL_EXPORTER_OTLP_HEADERS, such as Authorization=Bearer%20x")
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the receiver of traces (--otlp-endpoint, OTEL_EXPORTER_OTLP_ENDPOINT) must be a URL such as http://collector:4318")
	}
	if p := standard(o, "PROTOCOL"); p != "" && p != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q: traces go by http/protobuf only; name the port of it, mostly 4318", p)
	}
	d := &destination{url: where, host: u.Host, timeout: 10 * time.Second, every: 5 * time.Second, gzip: standard(o, "COMPRESSION") == "gzip"}
	if ms := standard(o, "TIMEOUT"); ms != "" {
		n, err := strconv.Atoi(ms)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT is %q: it must be a number of milliseconds", ms)
		}
		d.timeout = time.Duration(n) * time.Millisecond
	}
	if ms := strings.TrimSpace(o.Getenv("OTEL_BSP_SCHEDULE_DELAY")); ms != "" {
		n, err := strconv.Atoi(ms)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("OTEL_BSP_SCHEDULE_DELAY is %q: it must be a number of milliseconds", ms)
		}
		d.every = time.Duration(n) * time.Millisecond
	}
	headers, err := pairs(standard(o, "HEADERS"))
	if err != nil {
		return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS must be name=value,name=value, with % codes for what is special") // which may be secret
	}
	d.headers = http.Header{}
	for _, h := range headers {
		d.headers.Add(h[0], h[1])
	}
	config, err := private(o)
	if err != nil {
		return nil, err
	}
	d.client = &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, MaxIdleConns: 2, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true},
		// Who redirects would get the headers, which hold secrets.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return d, nil
}

// private reads the files that TLS needs.
func private(o Options) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := standard(o, "CERTIFICATE"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: there is no certificate (PEM) in %s", file)
		}
	}
	cert, key := standard(o, "CLIENT_CERTIFICATE"), standard(o, "CLIENT_KEY")
	if cert == "" && key == "" {
		return config, nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// pairs reads name=value,name=value as the specification of OpenTelemetry has it.
func pairs(list string) (all [][2]string, err error) {
	for one := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(one) == "" {
			continue
		}
		name, value, ok := strings.Cut(one, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, errors.New("a part without a name and a value")
		}
		if value, err = url.PathUnescape(strings.TrimSpace(value)); err != nil {
			return nil, err
		}
		all = append(all, [2]string{name, value})
	}
	return all, nil
}

// describe says of which process the spans are.
func describe(o Options) (*resource.Resource, error) {
	given, err := pairs(o.Getenv("OTEL_RESOURCE_ATTRIBUTES"))
	if err != nil {
		return nil, errors.New("OTEL_RESOURCE_ATTRIBUTES must be name=value,name=value, with % codes for what is special")
	}
	all := []attribute.KeyValue{
		attribute.String("service.name", o.Service),
		attribute.String("service.version", o.Version),
		attribute.String("service.instance.id", o.Instance),
		attribute.String("telemetry.sdk.name", "opentelemetry"),
		attribute.String("telemetry.sdk.language", "go"),
	}
	for _, pair := range given { // the last of a name counts
		all = append(all, attribute.String(pair[0], pair[1]))
	}
	if name := strings.TrimSpace(o.Getenv("OTEL_SERVICE_NAME")); name != "" {
		all = append(all, attribute.String("service.name", name))
	}
	return resource.NewSchemaless(all...), nil
}
