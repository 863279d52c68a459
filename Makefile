# `make help` lists the targets. `make run` and `make test` need Rust and nothing else.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
.PHONY: help build run test check fuzz audit bench bless docs wheel deb dist packaged clean

# `dev` answers after one short build; the fixtures are small, so nothing waits for optimised code. For real data: PROFILE=release.
PROFILE ?= dev
PORT ?= 8080
DEMO_HOME ?= .pubdata

TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
PUBDATA = $(TARGET_DIR)/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))/pubdata
# Optimised programs come with an allocator of their own, which takes a minute to build.
FEATURES = $(if $(filter dev,$(PROFILE)),,--features jemalloc)
MIRRORS := $(foreach folder,$(sort $(wildcard fixtures/*/*/basic/source)),--mirror $(folder))
# nextest when it is there (a process per test, clear summaries), else what Rust brings along.
TEST_RUNNER := $(shell cargo nextest --version >/dev/null 2>&1 && echo nextest run || echo test)

# With one process per test, thread pools would multiply.
test bless check: export POLARS_MAX_THREADS := 2
# What matters is printed; the log of each file and request is one variable away.
run: export PUBDATA_LOG := $(or $(PUBDATA_LOG),warn)

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build the program (PROFILE=release for real work)
	cargo build --locked --profile $(PROFILE) $(FEATURES)

run: build ## Build, publish the fixtures, serve them on loopback (PORT=8080) and print working requests; ctrl-c ends it
	@if (exec 3<>/dev/tcp/127.0.0.1/$(PORT)) 2>/dev/null; then echo "port $(PORT) is taken; try: make run PORT=8081" >&2; exit 1; fi
	echo "== publishing the fixtures into $(DEMO_HOME)"
	$(PUBDATA) run --home $(DEMO_HOME) $(MIRRORS) || { code=$$?; [ $$code -eq 10 ] || exit $$code; }
	echo "== logging the fixture's filings for /v1/stream"
	$(PUBDATA) follow --home $(DEMO_HOME) --once --day 2023-07-03 --mirror fixtures/sec/current_filings/basic/source >/dev/null
	key_file=$(DEMO_HOME)/demo-key
	if [ ! -s $$key_file ]; then # kept, so that a second run does not pile up keys
		umask 077
		$(PUBDATA) keys create --home $(DEMO_HOME) --name demo --scopes general,geo,sec,stream,admin --plan unlimited --json \
			| sed -n 's/.*"key": *"\([^"]*\)".*/\1/p' > $$key_file
	fi
	[ -s $$key_file ] || { echo "could not create the demo key; remove $(DEMO_HOME) and try again" >&2; exit 1; }
	echo "== sealing the release with a key of the demo, for /v1/receipts"
	signing_key=$(DEMO_HOME)/demo-signing-key
	[ -s $$signing_key ] || $(PUBDATA) keys signing --name demo.invalid/samples-only --output $$signing_key >/dev/null
	$(PUBDATA) seal --home $(DEMO_HOME) --signing-key $$signing_key >/dev/null
	echo "== starting the server on 127.0.0.1:$(PORT)"
	$(PUBDATA) serve --home $(DEMO_HOME) --bind 127.0.0.1:$(PORT) &
	server=$$!
	trap 'kill $$server 2>/dev/null || true' EXIT
	ready() { { exec 3<>/dev/tcp/127.0.0.1/$(PORT) && printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3 && head -n 1 <&3 | grep -q ' 200 '; } 2>/dev/null; }
	for attempt in $$(seq 150); do
		kill -0 $$server 2>/dev/null || { echo "the server ended; what it said stands above" >&2; exit 1; }
		ready && break
		sleep 0.2
	done
	ready || { echo "the server is not ready after 30 s" >&2; exit 1; }
	key=$$(cat $$key_file)
	base=http://127.0.0.1:$(PORT)
	printf '\nReady. Try:\n'
	auth="-H 'Authorization: Bearer $$key'"
	for path in \
		/v1/geo-demographics/locations/90210 \
		'/v1/geo-demographics/locations/90210/demographics?history=true' \
		'/v1/geo-demographics/locations/35950/schools?radius_mi=3' \
		/v1/geo-demographics/counties/06037 \
		'/v1/sec/companies/search?ticker=AAPL' \
		'/v1/sec/companies/320193/financials?metric=revenue&include=history' \
		'/v1/financials/320193?statement=income' \
		'/v1/business/search?name=radar+associates' \
		'/v1/license/verify?number=21907&state=TX' \
		'/v1/permits/search?jurisdiction=us-il-chicago' \
		/v1/provenance/geo.zcta_metric:2023:90210:population \
		/v1/receipts/geo.zcta_metric:2023:90210:population \
		/v1/me
	do
		echo "  curl $$auth '$$base$$path'"
	done
	echo "  curl $$auth -H 'Content-Type: application/json' -d '{\"locations\": [\"90210\", \"95120\"], \"metrics\": [\"population\"]}' '$$base/v1/geo-demographics/locations/compare'"
	echo "  curl '$$base/v1/coverage'"
	printf '\nOpen the stream of filings:\n'
	upgrade="-H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: cHViZGF0YS1kZW1vLWtleQ=='"
	echo "  curl --http1.1 --no-buffer $$auth $$upgrade '$$base/v1/stream'"
	echo "  python3 -m websockets ws://127.0.0.1:$(PORT)/v1/stream   (pip install websockets), then send:"
	echo "    {\"type\": \"auth\", \"token\": \"$$key\"}"
	echo "    {\"type\": \"subscribe\", \"id\": \"all\", \"since_seq\": 0}"
	invitation=$$($(PUBDATA) keys invite --home $(DEMO_HOME) --name 'a visitor' --scopes general,geo,sec,stream --expires 12h --public-url "$$base" 2>/dev/null) || invitation="$$base/keys"
	printf '\nOr open %s/ in a browser.   Stop: ctrl-c\n' "$$base"
	printf '  sign in at %s/keys with %s, or create a key of your own once:\n  %s\n\n' "$$base" "$$key" "$$invitation"
	trap 'kill -INT $$server 2>/dev/null || true; wait $$server || true; exit 0' INT TERM
	wait $$server

# Tests write and sync thousands of small files, which is faster in memory, if there is room.
SHM_FREE := $(shell df --output=avail -BG /dev/shm 2>/dev/null | tail -n 1 | tr -dc 0-9)
test bless: export TMPDIR := $(or $(TMPDIR),$(if $(filter-out 0 1 2 3,$(SHM_FREE)),/dev/shm,/tmp))
# Variables that name other programs, and the tests that skip without them.
PEERS := PUBDATA_TEST_PYTHON:readers-in-Python,Spark PUBDATA_TEST_MOTO:S3 PUBDATA_TEST_AZURITE:Azure PUBDATA_TEST_CLIENTS:generated-clients \
	PUBDATA_TEST_ORCHESTRATORS:Airflow,Dagster,OpenLineage PUBDATA_TEST_TYPESCRIPT:TypeScript PUBDATA_TEST_BROWSER:browser PUBDATA_TEST_PROMTOOL:alert-rules

test: ## Run all tests, or those of ARGS="--test api NAME"
	@for peer in $(PEERS); do
		variable=$${peer%%:*}
		[ -n "$${!variable:-}" ] || echo "skipped, since $$variable is not set: tests with $${peer#*:}"
	done
	[ -d ../shared/data ] || [ -n "$${PUBDATA_SHARED_DATA:-}" ] || echo "skipped, since PUBDATA_SHARED_DATA is not set: tests on the agencies' own files"
	echo "a full run takes tens of minutes on two processors; temporary files go to $(TMPDIR)"
	cargo $(TEST_RUNNER) --locked --workspace $(ARGS)

check: ## Format, lints, declarations, layers
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo run --locked --quiet -- check
	cargo test --locked --quiet --test project

fuzz: build ## Attack every parser for MINUTES=10 of processor time each (TARGETS="xml zip"): docs/FUZZING.md
	@cargo +nightly fuzz --version >/dev/null 2>&1 || { echo "fuzzing needs \`rustup toolchain install nightly\` and \`cargo install cargo-fuzz\`" >&2; exit 1; }
	[ -d fuzz/home/channels ] || $(PUBDATA) run --home fuzz/home $(MIRRORS) >/dev/null || { code=$$?; [ $$code -eq 10 ] || exit $$code; }
	fuzz/seeds.sh >/dev/null
	cargo +nightly fuzz build --sanitizer none fuzz
	fuzz/run.sh

audit: ## Advisories, licences, sources and bans of dependencies (needs cargo-deny, and the network for advisories)
	@cargo deny --version >/dev/null 2>&1 || { echo "not checked: cargo-deny is not installed; try: cargo install cargo-deny --locked" >&2; exit 1; }
	cargo deny --locked check licenses bans sources
	if ! cargo deny --locked fetch db; then
		echo "NOT checked: advisories. The database of advisories could not be fetched from github.com/rustsec/advisory-db; the rest is fine" >&2
		exit 1
	fi
	cargo deny --locked check --disable-fetch advisories

bench: ## Measure what docs/PERFORMANCE.md states
	cargo bench --locked --features jemalloc

bless: ## Rewrite expected files from the program's output; read the diff before you commit it
	PUBDATA_BLESS=1 cargo test --locked --test api --test nightly -- golden examples schema_files
	git status --short fixtures docs/examples docs/json

docs: ## Regenerate docs/data-dictionary.md from schemas/
	cargo run --locked --quiet -- schema dictionary > docs/data-dictionary.md.new
	mv docs/data-dictionary.md.new docs/data-dictionary.md

# What is handed out is optimised and without symbols; PROFILE=dev to try out how it is packed.
wheel deb dist: PROFILE = dist
PACKAGES := $(abspath $(TARGET_DIR))/packages
# Beside the program, where cargo-deb looks for what is packed with it.
PACKAGED = $(dir $(PUBDATA))packaging
MAINTAINER ?=
CHECKSUMS = cd $(PACKAGES) && ls | grep -E '\.(whl|deb|tar\.gz)$$' | xargs sha256sum > SHA256SUMS && ls -l

packaged: build
	@rm -rf $(PACKAGED)
	mkdir -p $(PACKAGED)/completions $(PACKAGES)
	$(PUBDATA) man --output $(PACKAGED)/man
	$(PUBDATA) completions bash > $(PACKAGED)/completions/pubdata.bash
	$(PUBDATA) completions zsh > $(PACKAGED)/completions/_pubdata
	$(PUBDATA) completions fish > $(PACKAGED)/completions/pubdata.fish
	packaging/third-party.sh > $(PACKAGED)/THIRD-PARTY

wheel: packaged ## A Python wheel of the program, in target/packages (needs maturin)
	@maturin --version >/dev/null 2>&1 || { echo "maturin is not installed; try: pip install maturin" >&2; exit 1; }
	# Licences are packed from beside its pyproject.toml.
	cp LICENSE $(PACKAGED)/THIRD-PARTY packaging/wheel/
	cd packaging/wheel
	maturin build --locked --profile $(PROFILE) $(FEATURES) --strip --out $(PACKAGES)
	$(CHECKSUMS)

deb: packaged ## A Debian package, in target/packages (needs cargo-deb)
	@cargo deb --version >/dev/null 2>&1 || { echo "cargo-deb is not installed; try: cargo install cargo-deb --locked" >&2; exit 1; }
	cargo deb --locked --no-build --strip --profile $(PROFILE) $(if $(MAINTAINER),--maintainer "$(MAINTAINER)") --output $(PACKAGES)/
	$(CHECKSUMS)

dist: packaged ## A tarball with program, manual, completions and units, in target/packages, with checksums
	@name=$$($(PUBDATA) --version | tr ' ' -)-$$(rustc -vV | sed -n 's/^host: //p')
	folder=$(PACKAGED)/$$name
	mkdir -p $$folder
	install -s -m 755 $(PUBDATA) $$folder/pubdata
	cp -r README.md LICENSE CHANGELOG.md $(PACKAGED)/THIRD-PARTY $(PACKAGED)/man $(PACKAGED)/completions integrations/systemd $$folder/
	# The same bytes from the same files: no owners, and the time of the last change that was committed.
	time=@$$(git log -1 --format=%ct 2>/dev/null || echo 0)
	tar --create --sort=name --mtime=$$time --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r-w --directory $(PACKAGED) $$name | gzip -n -9 > $(PACKAGES)/$$name.tar.gz
	$(CHECKSUMS)

clean: ## Remove build output and the demo home
	cargo clean
	rm -rf $(DEMO_HOME)
