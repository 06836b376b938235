#!/bin/sh
# Makes the base images of docker-compose.yml on this machine, where no container
# registry can be reached: a Go image out of the installed Go with the modules of
# go.mod inside, compiled, and a NATS image out of its source. It needs a Docker engine, Go, its
# module proxy, and a static busybox (installed, or fetched with apt-get download).
#
#   eval "$(deploy/offline/mkbase.sh)"
#   docker compose build
#
# Images that exist for this version of Go and this go.sum are used as they are; -f
# makes them again. The lines for the environment go to stdout, all else to stderr.
set -eu
cd "$(dirname "$0")/../.."

say() { printf 'mkbase: %s\n' "$*" >&2; }
fail() {
	say "$*"
	exit 1
}

force=no
case "${1:-}" in
'') ;;
-f) force=yes ;;
*) fail "usage: deploy/offline/mkbase.sh [-f]" ;;
esac

docker info >/dev/null 2>&1 || fail "no Docker engine answers: start one, or set DOCKER_HOST"
go version >/dev/null 2>&1 || fail "no go on the PATH"
unset GOFLAGS GOBIN
export GOTOOLCHAIN=local CGO_ENABLED=0

goroot=$(go env GOROOT)
go_version=$(go env GOVERSION)
nats_version=$(go list -m -f '{{.Version}}' github.com/nats-io/nats-server/v2)
# The modules are in the Go image: another go.sum is another image.
modules=$(cat go.mod go.sum | sha256sum | cut -c1-12)
go_image=switchyard-local/golang:${go_version#go}-$modules
nats_image=switchyard-local/nats:${nats_version#v}

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

wanted() {
	[ "$force" = yes ] || [ -z "$(docker images -q "$1")" ]
}

static_busybox() {
	for candidate in /bin/busybox /usr/bin/busybox /bin/busybox-static; do
		if [ -x "$candidate" ] && ! ldd "$candidate" >/dev/null 2>&1; then
			printf '%s\n' "$candidate"
			return
		fi
	done
	(cd "$work" && apt-get download busybox-static >&2 && dpkg-deb -x busybox-static_*.deb busybox) ||
		fail "no static busybox here: install Debian's busybox-static"
	printf '%s\n' "$work/busybox/bin/busybox"
}

# skeleton DIR: a root file system with a shell, the tools of busybox, and the
# authorities that TLS trusts.
skeleton() {
	mkdir -p "$1/bin" "$1/etc/ssl/certs" "$1/tmp" "$1/root"
	chmod 1777 "$1/tmp"
	for applet in $("$busybox" --list); do
		ln -s busybox "$1/bin/$applet"
	done
	rm -f "$1/bin/busybox"
	cp "$busybox" "$1/bin/busybox"
	echo 'root:x:0:0:root:/root:/bin/sh' >"$1/etc/passwd"
	if [ -s /etc/ssl/certs/ca-certificates.crt ]; then
		cp -L /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"
	else
		say "this machine has no ca-certificates.crt: the image will trust no public authority"
		: >"$1/etc/ssl/certs/ca-certificates.crt"
	fi
}

make_go() {
	say "$go_image from $goroot"
	root=$work/go
	skeleton "$root"
	mkdir -p "$root/usr/local/go"
	tar -C "$goroot" --exclude=./test --exclude=./api --exclude=./doc --exclude=./misc \
		--exclude='*_test.go' --exclude=testdata --exclude=./pkg/mod -cf - . | tar -C "$root/usr/local/go" -xf -
	cache=$(go env GOMODCACHE)
	GOMODCACHE=$root/go/pkg/mod GOPROXY="file://$cache/cache/download,$(go env GOPROXY)" \
		GOCACHE=$root/root/.cache/go-build go build -trimpath -buildvcs=false -o "$work/switchyard" ./cmd/switchyard
	find "$root/go/pkg/mod/cache/download" -name '*.zip' -delete
	tar -C "$root" -c . | docker import \
		-c 'ENV PATH=/usr/local/go/bin:/bin GOPATH=/go GOPROXY=off GOTOOLCHAIN=local CGO_ENABLED=0' - "$go_image" >&2
}

make_nats() {
	say "$nats_image from its source"
	root=$work/nats
	skeleton "$root"
	mkdir -p "$root/usr/local/bin"
	GOBIN=$root/usr/local/bin go install -trimpath -ldflags '-s -w' "github.com/nats-io/nats-server/v2@$nats_version"
	tar -C "$root" -c . | docker import \
		-c 'ENV PATH=/usr/local/bin:/bin' -c 'ENTRYPOINT ["nats-server"]' - "$nats_image" >&2
}

if wanted "$go_image" || wanted "$nats_image"; then
	busybox=$(static_busybox)
fi
if wanted "$go_image"; then make_go; fi
if wanted "$nats_image"; then make_nats; fi
printf 'export GO_IMAGE=%s\nexport NATS_IMAGE=%s\n' "$go_image" "$nats_image"
