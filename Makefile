# Everything a contributor does, by one name each. Needs Go, make and git; a C compiler adds the race
# detector. Works with GNU make 3.81 and a POSIX shell.

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Nothing here needs C but the race detector: what is built is the same with and without a compiler.
export CGO_ENABLED := 0

TOOLS    := .tools
PLUGINS  := $(notdir $(wildcard plugins/weather plugins/webfetch))
MODULES  := . tools $(wildcard bench)
IMAGE    := proto/toolplugin.binpb
SYSTEMS  := linux darwin windows
FUZZTIME := 10s
SOAK     := 5m
GOBUILD  := go build -trimpath

.PHONY: help setup build faults demo upstream test guards lint lint-go lint-proto lint-mod generate image bench benchruns performance profile fuzz clean contract mutants requirements soak conformance clients import

help: ## Print this list
	@echo 'usage: make TARGET'
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' Makefile

# The generators and linters have a module of their own, so that the product's stays small.
setup: $(TOOLS)/stamp ## Build the tools that lint and generate need into .tools/ (once; some minutes)

$(TOOLS)/stamp: tools/go.mod tools/go.sum
	@mkdir -p $(TOOLS)
	go -C tools build -o $(CURDIR)/$(TOOLS)/ tool
	@touch $@

build: ## Build bin/toolhost and its helpers, bin/plugins/toolplugin-* and bin/upstream
	$(GOBUILD) -o bin/toolhost ./cmd/toolhost
	$(GOBUILD) -ldflags=-s -o bin/toolhost-sandbox ./cmd/toolhost-sandbox
	$(GOBUILD) -ldflags='-s -w' -o bin/toolplugin-mcp ./plugins/mcp
	$(GOBUILD) -o bin/upstream ./plugins/upstream
	@for p in $(PLUGINS); do \
		echo "$(GOBUILD) -o bin/plugins/toolplugin-$$p ./plugins/$$p"; \
		$(GOBUILD) -o bin/plugins/toolplugin-$$p ./plugins/$$p || exit 1; \
	done

faults: ## Build hostile plugins to bin/faults, each with one evil; docs/faults.md lists them
	@mkdir -p bin
	$(GOBUILD) -ldflags='-s -w' -o bin/faults.install ./internal/faults
	@bin/faults.install -install bin/faults; status=$$?; rm -f bin/faults.install; exit $$status

demo: build ## Show the main job from end to end; LIVE=1 uses the real services
	go run ./internal/demo $(if $(LIVE),-live)

upstream: build ## Serve recorded weather and web answers on loopback, with bin/upstream.yaml to match
	bin/upstream -config bin/upstream.yaml

# The probe builds what the race detector needs of C: without a compiler, or without the C library's
# headers, it fails.
test: build ## Run all tests, shuffled, under the race detector if there is a C compiler
	@if CGO_ENABLED=1 go build -race runtime/cgo 2>/dev/null; then CGO_ENABLED=1 race=-race; else \
		race=; echo 'make test: no working C compiler: running WITHOUT the race detector'; fi; \
	set -x; go test $$race -shuffle=on -timeout=30m ./... && go -C bench test ./profile ./report
	@$(MAKE) guards

guards: ## Hold the allocations and bytes of a call to their ceilings, without the race detector
	go test -count=1 -run '^TestGuard' ./host ./host/internal/schema ./host/mcpserver ./proto/session ./pluginsdk

contract: ## Print the contract's rules, what was decided, and the tests that hold them
	@mkdir -p bin
	@rm -f bin/contract.txt
	@go test -count=1 -timeout=30m -run '^TestContract' ./host -contract.table=$(CURDIR)/bin/contract.txt; status=$$?; \
	cat bin/contract.txt; exit $$status

requirements: ## Run the tests that prove each of the requirements and print both (LIST=1: only print)
	@LIST=$(LIST) go run ./internal/requirements

mutants: ## Break the product on purpose, once for each patch, and show that its test fails
	go run ./internal/mutants host/testdata/mutants/*.patch

# npm install and not ci: an optional dependency of the inspector is for Windows alone, and ci refuses the lock file for it.
tools/mcp/clients/node_modules/.stamp: tools/mcp/clients/package.json
	cd tools/mcp/clients && npm install --ignore-scripts --no-audit --no-fund --no-package-lock --prefer-offline
	@touch $@

clients: build tools/mcp/clients/node_modules/.stamp ## Drive real MCP clients against toolhost mcp and print what each can do (Linux; needs Node and npm)
	go run ./internal/clients $(if $(ONLY),-only '$(ONLY)')

import: build tools/mcp/clients/node_modules/.stamp ## Import real MCP servers, kill each in a call, call again (Linux; needs Node and npm)
	go run ./internal/clients -import $(if $(ONLY),-only '$(ONLY)')

# The load generator shares the machine with the plugins: stop what else is busy before you believe a latency.
soak: ## Load, kill, stop, replace, break and fill plugins; SOAK=5m is the time without and again with chaos, or full
	$(GOBUILD) -ldflags='-s -w' -o bin/soak/toolplugin-soak ./internal/soak/plugin
	$(GOBUILD) -o bin/soak/soak ./internal/soak
	bin/soak/soak -time $(SOAK) $(if $(SEED),-seed $(SEED)) $(PHASES)

# The suite and the Node that it runs on are npm packages; --prefer-offline asks the registry for what npm's cache has not.
conformance: build tools/mcp/node_modules/.stamp ## Run the official MCP conformance suite on both sides (Linux on x64; needs npm)
	$(GOBUILD) -ldflags=-s -o bin/conformance/plugins/toolplugin-conformance ./internal/conformance/plugin
	$(GOBUILD) -ldflags=-s -o bin/conformance/client ./internal/conformance/client
	$(GOBUILD) -o bin/conformance/conformance ./internal/conformance
	bin/conformance/conformance

tools/mcp/node_modules/.stamp: tools/mcp/package-lock.json
	npm --prefix tools/mcp ci --ignore-scripts --no-audit --no-fund --prefer-offline
	@touch $@

lint: lint-go lint-proto lint-mod ## Check format, vet, staticcheck, proto rules, generated code, go.mod

lint-go: $(TOOLS)/stamp
	@echo 'gofmt -l .'; files=$$(gofmt -l .); if [ -n "$$files" ]; then \
		echo "not formatted (gofmt -w FILE):"; echo "$$files"; exit 1; fi
	@for os in $(SYSTEMS); do echo "GOOS=$$os go vet ./..."; GOOS=$$os go vet ./... || exit 1; done
	@for os in darwin windows; do echo "GOOS=$$os go build ./cmd/... ./plugins/..."; \
		GOOS=$$os go build ./cmd/... ./plugins/... || exit 1; done
	$(TOOLS)/staticcheck ./...
	@if [ -d bench ]; then echo 'bench: go vet, staticcheck'; \
		cd bench && go vet ./... && ../$(TOOLS)/staticcheck ./...; fi

# Generated code is compared with a fresh copy, so that the check changes nothing and needs no commit.
lint-proto: $(TOOLS)/stamp
	$(TOOLS)/buf lint
	$(TOOLS)/buf format --diff --exit-code
	$(TOOLS)/buf breaking --against $(IMAGE)
	@rm -rf $(TOOLS)/gen
	$(TOOLS)/buf generate -o $(TOOLS)/gen
	@diff -ru -x '*.proto' proto/toolplugin $(TOOLS)/gen/proto/toolplugin || { \
		echo 'generated code differs from the .proto files: run make generate'; exit 1; }

lint-mod:
	@for m in $(MODULES); do echo "go -C $$m mod tidy -diff"; go -C $$m mod tidy -diff || exit 1; done

generate: $(TOOLS)/stamp ## Write the Go code of the .proto files
	$(TOOLS)/buf generate

image: $(TOOLS)/stamp ## Renew the image that buf breaking compares with; see CONTRIBUTING.md first
	$(TOOLS)/buf build --exclude-source-info -o $(IMAGE)

bench: build bench/node/node_modules/.stamp bin/bench/.stamp ## Measure toolhost beside its peers (Linux; needs npm); QUICK=1 in two minutes, ONLY=WORD one group
	go -C bench build -trimpath -o ../bin/bench/bench ./cmd/bench
	cd bench && ../bin/bench/bench $(if $(QUICK),-quick) $(if $(ONLY),-only '$(ONLY)')

benchruns: build bench/node/node_modules/.stamp bin/bench/.stamp ## Make the three runs in docs/bench and say which gates held in two of them (half an hour)
	go -C bench build -trimpath -o ../bin/bench/bench ./cmd/bench
	@for n in 1 2 3; do \
		rm -f bench/out/run.json; (cd bench && ../bin/bench/bench); \
		cp bench/out/run.json docs/bench/run-$$n.json && cp bench/out/run.md docs/bench/run-$$n.md || exit 1; done
	cd bench && ../bin/bench/bench -judge ../docs/bench/run-*.json

performance: ## Write docs/performance.md from the last make bench, or from RUN=FILE.json
	go -C bench run ./cmd/bench -doc ../docs/performance.md $(abspath $(or $(RUN),bench/out/run.json))

profile: build bin/bench/.stamp ## Print where the CPU of a validated call goes in host and plugin; the profiles go to bin/profile/ (Linux)
	go -C bench build -trimpath -o ../bin/bench/bench ./cmd/bench
	cd bench && ../bin/bench/bench -only profile -out ../bin/profile
	@for p in host plugin; do echo; echo "== $$p"; go tool pprof -top -nodecount=35 bin/profile/$$p.pprof || exit 1; done

bench/node/node_modules/.stamp: bench/node/package-lock.json
	npm --prefix bench/node ci --ignore-scripts --no-audit --no-fund --prefer-offline
	@touch $@

# What is measured is built anew each time; Go knows what has changed.
.PHONY: bin/bench/.stamp
bin/bench/.stamp:
	@mkdir -p bin/bench
	go -C bench build -trimpath -o ../bin/bench/toolplugin-weather ./servers/weather
	go -C bench build -trimpath -o ../bin/bench/toolplugin-wire ./servers/wire
	go -C bench build -trimpath -o ../bin/bench/ ./bareplugin ./barecall ./markplugin ./servers/gosdk ./servers/mcpgo ./servers/pong

fuzz: ## Run every fuzz target for FUZZTIME (10s)
	@list=$$(go test -list '^Fuzz' ./...) || exit 1; echo "$$list" \
	| awk '/^Fuzz/ { names[++n] = $$1 } /^ok/ { for (i = 1; i <= n; i++) print $$2, names[i]; n = 0 }' \
	| while read -r package name; do \
		echo "== $$package $$name"; \
		go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$package" </dev/null || exit 1; \
	done

clean: ## Remove what was built, except .tools/
	rm -rf bin bench/out
