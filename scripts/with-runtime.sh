#!/bin/sh
# Runs a TypeScript file on the pinned Node. Installs the locked dependencies first where they are absent or older than the lock file.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
stamp="$root/node_modules/.installed-lock"
is_current() { cmp -s "$root/package-lock.json" "$stamp" 2>/dev/null; }
install() {
  is_current && return # another command has just done it
  echo "biosignal: installing the locked dependencies (once) ..." >&2
  (cd "$root" && npm ci --prefer-offline --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
  cp "$root/package-lock.json" "$stamp"
}
if ! is_current; then
  if [ ! -e "$stamp" ] && [ "$root/node_modules/.package-lock.json" -nt "$root/package-lock.json" ]; then
    # Somebody ran `npm ci`, perhaps for a service whose user may not write here.
    cp "$root/package-lock.json" "$stamp" 2>/dev/null || true
  elif command -v flock >/dev/null; then
    # Two commands at once in a fresh clone: the second waits for the first one's installation.
    mkdir -p "$root/.cache"
    (flock 9 && install) 9>"$root/.cache/install.lock"
  else
    install
  fi
fi
script=$1
shift
# Compiled code is kept for the next start, where this user may write: a tenth of its processor time.
if [ -w "$root" ]; then export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE-$root/.cache/compile}"; fi
exec "$root/node_modules/.bin/node" --disable-warning=ExperimentalWarning "$root/$script" "$@"
