# peermux: what anyone can run. `make demo` shows it at work, `make test` checks it.
SHELL := /bin/bash
GO ?= go
PREFIX ?= $(HOME)/.local

VERSION := $(shell cat VERSION)
COMMIT := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
# -trimpath and no build id that depends on the machine: the same bytes twice.
BUILD := CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -buildid= -X main.version=$(VERSION) -X main.commit=$(COMMIT)'

.PHONY: build install demo test lint e2e bench soak fuzz vuln release picture clean

build: ## both programs into bin/
	$(BUILD) -o bin/ ./cmd/peermux ./cmd/peermux-hook

install: build ## both programs into $(PREFIX)/bin
	install -d "$(PREFIX)/bin"
	install -m 0755 bin/peermux bin/peermux-hook "$(PREFIX)/bin/"
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo "note: $(PREFIX)/bin is not on your PATH: export PATH=\"$(PREFIX)/bin:\$$PATH\"";; esac

demo: build ## the main job with stand-in agents: no account, no client needed
	bin/peermux demo

test: lint ## everything but the real clients
	scripts/need-tmux
	$(if $(CI),scripts/go-test,$(GO) test) -race -p 3 -timeout 15m ./...

lint: ## gofmt, vet for the systems we build for, staticcheck
	scripts/lint

e2e: build ## the real Claude Code and Codex against mock models on loopback
	scripts/need-tmux
	scripts/install-clients
	PEERMUX_E2E_BUILT="$(CURDIR)/bin" scripts/go-test -tags e2e -timeout 15m -count=1 -v ./internal/e2e/...

bench: build ## figures with their floor and their peers; QUICK=1 for 30 s
	$(GO) run ./bench $(if $(QUICK),-quick)

soak: build ## stand-in sessions doing everything at once; FOR=60s
	$(GO) run ./internal/soak -for $(or $(FOR),60s)

fuzz: ## each fuzz target for a fixed count
	scripts/fuzz

vuln: ## known vulnerabilities; needs the database, says so when it cannot be reached
	scripts/vuln

release: ## linux and darwin, amd64 and arm64, with checksums and an SBOM, into dist/
	scripts/release "$(VERSION)"

picture: build ## the README's pictures: the demo, and top among stand-in agents
	$(GO) run ./scripts/picture docs/pictures/demo.svg bin/peermux demo
	$(GO) run ./scripts/picture -top docs/pictures/top.svg bin/peermux

clean:
	rm -rf bin dist
