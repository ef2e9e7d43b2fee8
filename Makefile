# What a user and CI need; everything else is `go` itself.
.PHONY: build quickstart test test-needs generate release reproducible man clean

# A static program. The same commit and the same Go give the same bytes, wherever they are built; Go writes the version into
# them, which is the git tag. Of the processor, what every one of its architecture can do.
BUILD = CGO_ENABLED=0 GOAMD64=v1 GOARM64=v8.0 go build -trimpath -buildvcs=auto

build:
	$(BUILD) -o bin/plimsoll ./cmd/plimsoll

quickstart: build
	bin/plimsoll run quickstart

# All tests, with the race detector, against the real parts: the first time, these are built.
test: test-needs
	@test -z "$$(gofmt -l .)" || { echo "not formatted:"; gofmt -l .; exit 1; }
	go vet ./...
	go tool staticcheck ./...
	go test -race -timeout 45m ./...

# What tests need beside the parts, if it is missing: the browser that reports are looked at with, and the database servers
# under kine. No server is started: those of MariaDB come without a service, PostgreSQL's heeds the runlevel.
test-needs:
	@missing=$$( \
		command -v chromium >/dev/null || echo chromium; \
		command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || echo postgresql; \
		{ command -v mariadbd >/dev/null || test -x /usr/sbin/mariadbd; } && command -v mariadb-install-db >/dev/null && command -v my_print_defaults >/dev/null || \
			echo mariadb-server-core mariadb-client-core); \
	test -z "$$missing" || { \
		sudo=$$(test "$$(id -u)" = 0 || echo sudo); \
		$$sudo apt-get update -qq && \
		$$sudo env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; }

generate:
	go generate ./...

release:
	rm -rf bin/release
	GOOS=linux GOARCH=amd64 $(BUILD) -o bin/release/plimsoll-linux-amd64 ./cmd/plimsoll
	GOOS=linux GOARCH=arm64 $(BUILD) -o bin/release/plimsoll-linux-arm64 ./cmd/plimsoll
	cd bin/release && sha256sum plimsoll-* > SHA256SUMS

# The release of the last commit, made twice, from two folders and with nothing cached, must be the same.
reproducible:
	@set -e; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	for copy in one two/of/them; do \
		git clone --quiet . "$$dir/$$copy"; \
		GOCACHE="$$dir/cache/$$copy" $(MAKE) -C "$$dir/$$copy" release; \
	done; \
	diff "$$dir/one/bin/release/SHA256SUMS" "$$dir/two/of/them/bin/release/SHA256SUMS"; \
	cat "$$dir/one/bin/release/SHA256SUMS"

man: build
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) bin/plimsoll man bin/man

clean:
	rm -rf bin
