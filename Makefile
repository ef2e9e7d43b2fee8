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
	go test -race -timeout 45m ./...

# The browser that reports are looked at with, if there is none.
test-needs:
	@command -v chromium >/dev/null 2>&1 || { \
		sudo=$$(test "$$(id -u)" = 0 || echo sudo); \
		$$sudo apt-get update -qq && $$sudo apt-get install -y -qq --no-install-recommends chromium >/dev/null; }

generate:
	go generate ./...

clean:
	rm -rf bin
