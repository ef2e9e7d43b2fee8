# What a user and CI need; everything else is `go` itself.
.PHONY: build quickstart test test-needs generate clean

build:
	CGO_ENABLED=0 go build -trimpath -buildvcs=auto -o bin/plimsoll ./cmd/plimsoll

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

clean:
	rm -rf bin
