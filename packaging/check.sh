#!/usr/bin/env bash
# Unpacks what `make wheel deb dist` made, each into a place where nothing else of ours is, and has each program publish the fixtures, serve them
# and verify the release, also with the arguments of the container. Prints sizes. Usage: packaging/check.sh FOLDER_OF_PACKAGES
set -euo pipefail
cd "$(dirname "$0")/.."
packages=$(realpath "${1:?usage: packaging/check.sh FOLDER_OF_PACKAGES}")
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
mirrors=()
for folder in "$PWD"/fixtures/*/*/basic/source; do mirrors+=(--mirror "$folder"); done

fail() { echo "packages: $*" >&2; exit 1; }

# The only file of a kind.
only() {
    local found=("$packages"/$1)
    [ "${#found[@]}" = 1 ] && [ -f "${found[0]}" ] || fail "there should be one $1 in $packages: ${found[*]}"
    echo "${found[0]}"
}

# Runs a program without our environment, in a folder of its own.
clean() { (cd "$work" && env -i PATH=/usr/bin:/bin HOME="$work" POLARS_MAX_THREADS=2 PUBDATA_LOG=warn "$@"); }

# Has an installed program do what a person does first: check NAME PROGRAM
check() {
    local name=$1 program=$2 home=$work/home-of-$1 code=0 release address
    [ "$(clean "$program" --version)" = "$version" ] || fail "$name: \`pubdata --version\` is not $version"
    clean "$program" run --home "$home" "${mirrors[@]}" > "$work/run" 2>&1 || code=$?
    [ "$code" = 0 ] || [ "$code" = 10 ] || { cat "$work/run"; fail "$name: the run ended with $code"; }
    release=$(sed -n 's/^published \(r[0-9a-f]*\) .*/\1/p' "$work/run")
    [ -n "$release" ] || { cat "$work/run"; fail "$name: the run published nothing"; }
    # The same files make the same release, however the program came here.
    [ "$release" = "${expected:=$release}" ] || fail "$name: published $release, the package before it $expected"
    clean "$program" verify --home "$home" > "$work/verify" || { cat "$work/verify"; fail "$name: verify found a difference"; }
    serve "$name" "$program" "$home" "$release" serve --bind 127.0.0.1:0
    echo "$name: published $release, served and verified"
}

# Starts the server on a port that the system gives and asks it: serve NAME PROGRAM HOME RELEASE ARGUMENT…
serve() {
    local log=$work/serve-of-$1 address='' release
    (cd "$work" && exec env -i PATH=/usr/bin:/bin HOME="$work" PUBDATA_HOME="$3" PUBDATA_LOG=info PUBDATA_LOG_FORMAT=json "$2" "${@:5}") > "$log" 2>&1 &
    server=$!
    for _ in $(seq 150); do
        kill -0 "$server" 2>/dev/null || { cat "$log"; fail "$1: the server ended"; }
        address=$(grep -o '\(127\.0\.0\.1\|0\.0\.0\.0\):[1-9][0-9]*' "$log" | head -1 | sed 's/^0\.0\.0\.0/127.0.0.1/' || true)
        [ -n "$address" ] && [ "$(status "$address" /readyz)" = 200 ] && break
        sleep 0.2
    done
    [ "$(status "$address" /readyz)" = 200 ] || { cat "$log"; fail "$1: /readyz does not answer 200"; }
    release=$(python3 -c 'import sys, urllib.request; sys.stdout.write(urllib.request.urlopen(sys.argv[1]).read().decode())' "http://$address/v1/coverage" |
        grep -o '"release_id": *"r[0-9a-f]*"\|"release": *"r[0-9a-f]*"' | grep -o 'r[0-9a-f]\{20\}' | head -1)
    [ "$release" = "$4" ] || fail "$1: /v1/coverage answers from \`$release\`, not from $4"
    kill -INT "$server"
    wait "$server" || fail "$1: the server did not end as it should"
    server=
}

status() {
    python3 - "http://$1$2" <<'PY' 2>/dev/null || true
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=5).status)
PY
}

echo "sizes in bytes:"
stat --format='  %s %n' "$packages"/pubdata* | sed "s|$packages/||"

wheel=$(only 'pubdata-*.whl')
deb=$(only 'pubdata_*.deb')
tarball=$(only 'pubdata-*.tar.gz')
version="pubdata $(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)"

(cd "$packages" && sha256sum --quiet --check SHA256SUMS) || fail "SHA256SUMS does not fit"
for package in "$wheel" "$deb" "$tarball"; do
    grep -q " $(basename "$package")\$" "$packages/SHA256SUMS" || fail "SHA256SUMS lacks $(basename "$package")"
done

# Our licence and those of what is linked: licences NAME FOLDER
licences() {
    [ "$(find "$2" \( -name LICENSE -o -name copyright \) -exec grep -l 'Apache License' {} + | wc -l)" = 1 ] || fail "$1: it lacks our licence"
    [ "$(find "$2" -name THIRD-PARTY -exec grep -l '^polars [0-9.]*: MIT' {} + | wc -l)" = 1 ] || fail "$1: it lacks the licences of what is linked"
}

python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps "$wheel"
licences wheel "$work"/venv/lib/python3*/site-packages/pubdata-*.dist-info
check wheel "$work/venv/bin/pubdata"

dpkg-deb --extract "$deb" "$work/unpacked"
dpkg-deb --control "$deb" "$work/control"
for script in postinst prerm postrm; do sh -n "$work/control/$script" || fail "deb: $script"; done
grep -qx /etc/pubdata/pubdata.env "$work/control/conffiles" || fail "deb: the settings would be overwritten by an upgrade"
for file in usr/share/man/man1/pubdata.1 usr/share/man/man1/pubdata-run.1 usr/share/bash-completion/completions/pubdata usr/lib/systemd/system/pubdata-run.timer; do
    [ -s "$work/unpacked/$file" ] || fail "deb: it lacks $file"
done
[ "$(stat --format=%a "$work/unpacked/etc/pubdata/pubdata.env")" = 600 ] || fail "deb: others could read the secrets"
licences deb "$work/unpacked/usr/share/doc"
check deb "$work/unpacked/usr/bin/pubdata"
# The container is not built here; it has the same program, which must take its arguments. On a port that is free.
mapfile -t arguments < <(sed -n 's/^CMD //p' packaging/Containerfile | python3 -c 'import json, sys; print("\n".join(json.load(sys.stdin)).replace(":8080", ":0"))')
[ "${#arguments[@]}" -gt 1 ] || fail "container: packaging/Containerfile has no CMD"
serve container "$work/unpacked/usr/bin/pubdata" "$work/home-of-deb" "$expected" "${arguments[@]}"
echo "container: its arguments serve $expected"
if command -v systemd-analyze >/dev/null; then
    # With the program where it was unpacked: the units find it by name in /usr/bin.
    sed -i "s|^ExecStart=pubdata|ExecStart=$work/unpacked/usr/bin/pubdata|" "$work"/unpacked/usr/lib/systemd/system/*.service
    systemd-analyze verify --man=no "$work"/unpacked/usr/lib/systemd/system/pubdata-* || fail "deb: systemd refuses its units"
else
    echo "skipped: systemd-analyze is not installed, so that units are not checked"
fi

tar --extract --file "$tarball" --directory "$work"
licences tarball "$work/$(basename "$tarball" .tar.gz)"
check tarball "$work/$(basename "$tarball" .tar.gz)/pubdata"

# A copy: setuptools leaves its own folders beside what it packs.
cp -r integrations/spark "$work/spark"
python3 -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work/wheels" "$work/spark"
spark=$(cd "$work/wheels" && echo *.whl)
case $spark in pubdata_spark-*-py3-none-any.whl) echo "spark: $spark" ;; *) fail "integrations/spark is no pure wheel: $spark" ;; esac
