# make run and make test need Go, git and make. The targets below the line
# install what else they need from Debian's and npm's packages.

SHELL := /bin/bash
export GORACE := atexit_sleep_ms=0
NPM_CI := npm ci --loglevel error --no-audit --no-fund
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0

.PHONY: run build test help ci format vet staticcheck generated configuration cli man licences ui manifests alerts vulncheck race conformance postgres clients soap-clients chaos kubernetes bench fuzz container-tools image dist docs-tools docs-site

run: build ## start everything in one process on :8080, with the example schema
	bin/api --dev --schema examples/social --data $(or $(DATA),data)

build: ## build bin/api, bin/worker and bin/tidings
	@mkdir -p bin
	CGO_ENABLED=0 go build -o bin/ ./cmd/api ./cmd/worker ./cmd/tidings

test: ## all tests that need nothing but Go
	go test ./...

help: ## print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 17

ci: format vet staticcheck generated manifests alerts vulncheck race conformance ## what every change must pass

format: ## fail on files that gofmt would change
	@out=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "gofmt these:"; echo "$$out"; exit 1; }

vet:
	go vet ./...
	go vet -tags conformance ./conformance/... ./wssec
	go vet -tags kubernetes ./conformance/kubernetes

staticcheck:
	go run $(STATICCHECK) ./...

generated: build ## fail when the printed contract, docs/configuration.md, docs/cli.md or the list of licences is not the one in the tree, breaks a locked version, or a licence came in that is not allowed
	bin/api schema print --schema examples/social | diff -u examples/social/contract.graphql -
	bin/api soap check --schema examples/social
	go test -run '^TestTheManualSaysWhatTheSettingsAre$$' ./cmd/internal/boot
	go test -run '^Test(TheReferenceIsWhatTheCommandsSay|TheHelpIsAsItWas|ManPagesAreThereAndAreRoff)$$' ./cmd/tidings
	go run ./deploy/release licences | diff -u THIRD_PARTY_LICENSES.md -

ui: ## build what browsers load from the sources in web; conformance compares the bytes
	@command -v node >/dev/null || (apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs npm)
	@for p in web/*/package.json; do (cd $$(dirname $$p) && $(NPM_CI) && node build.mjs) || exit 1; done
	$(MAKE) licences

licences: ## write THIRD_PARTY_LICENSES.md from what is linked in
	go run ./deploy/release licences > THIRD_PARTY_LICENSES.md

# The database is asked for over the network: without one that is said, and
# nothing is checked. VULNDB=file:///copy/of/it has it looked for elsewhere.
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.8.0
VULNDB ?= https://vuln.go.dev
vulncheck: ## known vulnerabilities of what is called, where the Go vulnerability database can be had
	@case '$(VULNDB)' in \
	  file://*) test -e '$(VULNDB:file://%=%)/index/db.json' ;; \
	  *) curl -fsS -m 20 -o /dev/null '$(VULNDB)/index/db.json' ;; \
	esac || { echo 'vulncheck: SKIPPED, nothing was checked: $(VULNDB) cannot be reached'; exit 0; }; \
	go run $(GOVULNCHECK) -db '$(VULNDB)' ./...

configuration: ## write docs/configuration.md from the settings
	go test -run '^TestTheManualSaysWhatTheSettingsAre$$' ./cmd/internal/boot -update

cli: ## write the reference in docs/cli.md, and what tests know of the help, from the commands
	go test -run '^Test(TheReferenceIsWhatTheCommandsSay|TheHelpIsAsItWas)$$' ./cmd/tidings -update

man: build ## write man pages into bin/man
	@mkdir -p bin/man
	bin/tidings man bin/man

manifests: ## what kustomize makes of deploy/k8s: schemas, pod security, wiring, promises, NATS's own parser; the queries of deploy/grafana
	@command -v openssl >/dev/null || (apt-get update -qq && apt-get install -y -qq --no-install-recommends openssl)
	@command -v promtool >/dev/null || (apt-get update -qq && apt-get install -y -qq --no-install-recommends prometheus)
	cd conformance/manifests && go vet ./... && go run $(STATICCHECK) ./... && go test -count=1 ./...

alerts: ## the rules of deploy/prometheus, each alert firing and silent, with Prometheus's promtool
	@command -v promtool >/dev/null || (apt-get update -qq && apt-get install -y -qq --no-install-recommends prometheus)
	promtool check rules deploy/prometheus/rules.yaml
	promtool test rules deploy/prometheus/tests/*.yaml

race: ## all tests with the race detector
	go test -race ./...

# ---- foreign clients

clients: ## install the foreign clients that conformance needs
	@command -v node >/dev/null || (apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs npm)
	@/usr/bin/python3 -c 'import zeep' 2>/dev/null && php -m 2>/dev/null | grep -qx soap || \
	  (apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-zeep php-cli php-soap)
	@/usr/bin/python3 -c 'import xmlsec' 2>/dev/null && command -v xmlsec1 >/dev/null && command -v xmllint >/dev/null || \
	  (apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-xmlsec xmlsec1 libxml2-utils)
	@command -v ip >/dev/null || (apt-get update -qq && apt-get install -y -qq --no-install-recommends iproute2)
	@test -e /usr/share/java/wss4j.jar && command -v javac >/dev/null || \
	  (apt-get update -qq && apt-get install -y -qq --no-install-recommends default-jdk-headless libwss4j-java libslf4j-java libcommons-logging-java)
	@command -v haproxy >/dev/null && command -v nginx >/dev/null || (apt-get update -qq && apt-get install -y -qq --no-install-recommends haproxy nginx-light)
	@command -v zsh >/dev/null && command -v fish >/dev/null || (apt-get update -qq && apt-get install -y -qq --no-install-recommends zsh fish)
	@command -v prometheus >/dev/null || (apt-get update -qq && apt-get install -y -qq --no-install-recommends prometheus)
	@command -v kotlinc >/dev/null || (apt-get update -qq && apt-get install -y -qq --no-install-recommends kotlin)
	@command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium)
	@command -v firefox-esr >/dev/null && command -v WebKitWebDriver >/dev/null && command -v Xvfb >/dev/null || \
	  (apt-get update -qq && apt-get install -y -qq --no-install-recommends firefox-esr webkit2gtk-driver xvfb)
	@for p in conformance/*/package.json examples/*/package.json web/*/package.json; do cd $(CURDIR)/$$(dirname $$p) && { $(NPM_CI) || $(NPM_CI); } || exit 1; done

soap-clients: ## install the others of SOAP: suds, SOAP::Lite, gSOAP, JAX-WS and Mono, 90 MB of packages
	@/usr/bin/python3 -c 'import suds' 2>/dev/null && perl -MSOAP::Lite -e 1 2>/dev/null || \
	  (apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-suds libsoap-lite-perl)
	@command -v wsdl2h >/dev/null && test -e /usr/include/stdsoap2.h && test -e /usr/include/openssl/ssl.h && command -v g++ >/dev/null || \
	  (apt-get update -qq && apt-get install -y -qq --no-install-recommends gsoap libgsoap-dev libssl-dev g++)
	@command -v wsimport >/dev/null && command -v javac >/dev/null || \
	  (apt-get update -qq && apt-get install -y -qq --no-install-recommends jaxws default-jdk-headless)
	@command -v mcs >/dev/null && command -v wsdl >/dev/null || \
	  (apt-get update -qq && apt-get install -y -qq --no-install-recommends mono-devel)

conformance: clients soap-clients postgres build ## the walks against foreign clients: graphql-http, Apollo, urql, graphql-js, GraphQL Code Generator, genqlient, graphql-ws, graphql-sse, Chromium, Firefox, WebKit, bash, zsh, fish, zeep, PHP, npm soap, suds, SOAP::Lite, gSOAP, JAX-WS, Mono, WSS4J, HAProxy, nginx, Prometheus with the dashboard's queries, several processes
	go test -tags conformance -count=1 -timeout 30m ./conformance/... ./wssec

# make conformance injects the first few of these faults.
FAULTS ?= .
EACH ?= 20s
SEED ?= 0
chaos: ## every fault under load on three NATS servers, as root, then a table: FAULTS='leader' EACH=20s SEED=1
	go test -tags conformance -count=1 -v -timeout 3h -run '^TestNothingIsLostWhateverFails$$' ./conformance/processes -args -faults '$(FAULTS)' -each $(EACH) -seed $(SEED)

postgres: build ## the tests of views, and of what reads them, on a PostgreSQL that is started for them; part of conformance
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || (apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql)
	view/viewtest/with-postgres.sh go test -race -count=1 -timeout 15m ./view ./resource
	view/viewtest/with-postgres.sh go test -count=1 -timeout 15m ./graphql

kubernetes: ## deploy/k8s on a control plane and three nodes made for it, with live clients, as root; the first time it builds Kubernetes. One part: ARGS='-test.run TestOnRealNodes/Drain'
	conformance/kubernetes/run.sh $(ARGS)

bench: ## ratios against the baselines, in one run
	bench/run.sh

FUZZTIME ?= 1m
fuzz: ## run every fuzz target for FUZZTIME
	@for pkg in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$pkg | grep ^Fuzz); do \
	    echo "$$pkg $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; done; done

# ---- what is given to others: docs/release.md

docs-tools: ## install what makes a site of the documentation
	@command -v mkdocs >/dev/null && test -d /usr/share/mkdocs/themes/material || \
	  (apt-get update -qq && apt-get install -y -qq --no-install-recommends mkdocs mkdocs-material)
conformance: docs-tools # for conformance/docs

docs-site: docs-tools ## build docs/ as a site in dist/site; SOURCE=https://... is where its links to other files lead
	mkdocs build -q -f deploy/site/mkdocs.yml

container-tools: ## install what builds and runs images without an engine
	@command -v buildah >/dev/null && command -v podman >/dev/null && command -v runc >/dev/null || \
	  (apt-get update -qq && apt-get install -y -qq --no-install-recommends buildah podman runc)
conformance: container-tools # for conformance/image

IMAGE ?= localhost/tidings:dev
image: container-tools ## build the image with buildah: IMAGE=localhost/tidings:dev ARCHIVE=tidings.tar ARCHITECTURES='amd64 arm64'
	deploy/image/build.sh $(IMAGE) '$(ARCHIVE)' $(ARCHITECTURES)

dist: ## build all releases into dist: archives, bills of materials, checksums
	go run ./deploy/release dist dist
