# What each target needs is checked by it: `make` alone lists them.
PKG      ?= ./...
BENCH    ?= .
LAB      ?=
ENGINE   ?= docker
IMAGE    ?= contend:dev
OUT      ?= contend
KUBE     ?= Kubernetes
# Without the symbols, and with the flags that deploy/flags prints.
GO       := flags=$$(deploy/flags) && CGO_ENABLED=0 go
FLAGS    := $$flags -ldflags="-s -w"
# Where releases are, as in github.com/OWNER/contend; without it `make release` is a dry run.
REPOSITORY :=
NOWHERE  := example.org/nobody/contend
RELEASE  := deploy/release/goreleaser.yaml
PUBLISH  := --skip=publish
COMPOSE  := deploy/compose
SECRETS  := $(COMPOSE)/secrets

# deploy/ is a module of its own, whose tests need what the program does not. Where PKG is not set, both are meant.
BOTH     := $(if $(filter-out ./...,$(PKG)),.,. deploy)

.PHONY: help build test race bench lint lines fuzz golden lab image release compose-up compose-down compose-secrets kube-validate engine

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

build: ## the program, ./contend
	$(GO) build $(FLAGS) -o $(OUT) ./cmd/contend

test: ## all tests; CI=true makes a missing real component a failure
	set -e; for module in $(BOTH); do go -C $$module test $(PKG); done

# Without GORACE each process, of which tests start many, sleeps for a second at its end.
race: ## all tests of the program with the race detector
	CGO_ENABLED=1 GORACE=atexit_sleep_ms=10 go test -race $(PKG)

bench: ## all benchmarks
	go test -run '^$$' -bench '$(BENCH)' -benchmem $(PKG)

lint: ## gofmt, vet, staticcheck
	@unformatted=$$(gofmt -s -l .); [ -z "$$unformatted" ] || { echo "not formatted: $$unformatted" >&2; exit 1; }
	set -e; for module in $(BOTH); do \
		go -C $$module vet $(PKG); \
		go -C $$module run honnef.co/go/tools/cmd/staticcheck@v0.8.2 $(PKG); \
	done

lines: ## lines of each room, without comments and blank lines: code, tests
	@go test -count=1 -run RoomsStaySmall -v . | sed -n 's/^ *rooms_test.go:[0-9]*: //p'

fuzz: ## every fuzz test, 100 000 inputs each
	./.ci/fuzz 100000x

golden: ## write the golden files anew
	go test ./report ./experiment ./internal/cli -update

lab: ## rerun the published experiments, or LAB="ID --profile standard"
	$(GO) run $(FLAGS) ./cmd/contend lab $(LAB)

image: engine ## the container image, after its tests
	@! $(ENGINE) --version | grep -qi '^docker version' || $(ENGINE) buildx version >/dev/null 2>&1 || \
		{ echo "make $@: $(ENGINE) has no subcommand buildx, and without it does not know the mounts and platforms of deploy/Dockerfile:" \
			"install the Buildx plugin, or name another engine, as in ENGINE=podman" >&2; exit 1; }
	$(ENGINE) build -f deploy/Dockerfile --target test .
	$(ENGINE) build -f deploy/Dockerfile -t $(IMAGE) .

# The tools are built and modules downloaded, then the network is not used. The same commit gives the same bytes.
release: ## all of a release, in dist/; a dry run without REPOSITORY=github.com/OWNER/contend
	rm -rf dist
	CGO_ENABLED=0 go -C deploy build -trimpath -tags=grpcnotrace -o ../dist/tools/release ./release
	CGO_ENABLED=0 go -C deploy build -trimpath -modfile=release/goreleaser.mod -o ../dist/tools/goreleaser github.com/goreleaser/goreleaser/v2
	go mod download
	set -e; flags=$$(deploy/flags); export GOPROXY=off GOFLAGS="$$flags" SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) MADE=$$(git log -1 --format=%cI) HOLDS=dist/manual \
		REPOSITORY=$(or $(REPOSITORY),$(NOWHERE)) OWNER=$(word 2,$(subst /, ,$(or $(REPOSITORY),$(NOWHERE)))); \
	dist/tools/release manual $$HOLDS; \
	sed "s,REPOSITORY,$$REPOSITORY,g; s,OWNER,$$OWNER,g" deploy/release/install.md >dist/install.md; \
	dist/tools/goreleaser release --config $(RELEASE) --release-header dist/install.md --parallelism 1 $(PUBLISH) $(if $(REPOSITORY),,--snapshot); \
	dist/tools/release image dist/image dist/release/*_linux_*/contend

compose-up: engine compose-secrets ## counter, proxy, router, Redis, PostgreSQL, Prometheus, Grafana
	@$(ENGINE) compose version >/dev/null 2>&1 || \
		{ echo "make $@: $(ENGINE) has no subcommand compose: install the Compose plugin" >&2; exit 1; }
	$(ENGINE) compose -f $(COMPOSE)/compose.yaml up --build --detach --wait

# What cluster.yaml adds is an orphan here, and goes, too.
compose-down: engine ## stop them; their volumes stay
	$(ENGINE) compose -f $(COMPOSE)/compose.yaml down --remove-orphans

compose-secrets: ## passwords and tokens for Compose, where there are none yet
	@umask 022; mkdir -p -m 700 $(SECRETS); cd $(SECRETS); \
	random() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }; \
	[ -s postgres-password ] || { random >postgres-password; rm -f pgpass; }; \
	[ -s pgpass ] || echo "postgres:5432:ran:ran:$$(cat postgres-password)" >pgpass; \
	[ -s router-tokens ] || echo "demo $$(random)" >router-tokens

kube-validate: ## the Kubernetes manifests: our own checks, then kubectl and kubeconform if they are here
	go -C deploy test -run "$(KUBE)" .
	@for overlay in deploy/kubernetes/namespace deploy/kubernetes/overlays/* deploy/kubernetes/experiment/memory deploy/kubernetes/experiment/redis deploy/kubernetes/fleet deploy/kubernetes/uplink; do \
		if command -v kubectl >/dev/null; then \
			kubectl kustomize $$overlay >/dev/null && echo "kubectl kustomize $$overlay: ok" || exit 1; \
			if command -v kubeconform >/dev/null; then \
				kubectl kustomize $$overlay | kubeconform -strict -summary || exit 1; \
			fi; \
		fi; \
	done
	@for tool in kubectl kubeconform; do command -v $$tool >/dev/null || echo "$$tool is not installed: left out"; done

engine:
	@command -v $(ENGINE) >/dev/null || \
		{ echo "no $(ENGINE) on the PATH: install a container engine, or name yours, as in ENGINE=podman" >&2; exit 1; }
	@$(ENGINE) info >/dev/null 2>&1 || \
		{ echo "$(ENGINE) has no engine to talk to: start it, or name another, as in ENGINE=podman" >&2; exit 1; }
