#!/bin/sh
# The command line, from any folder: biosignal COMMAND ... (see biosignal --help)
set -eu
# Follow links by hand: an npm bin link points here, and readlink -f is not everywhere.
self=$0
while [ -L "$self" ]; do
  to=$(readlink "$self")
  case $to in
    /*) self=$to ;;
    *) self=$(dirname -- "$self")/$to ;;
  esac
done
root=$(CDPATH='' cd -- "$(dirname -- "$self")/.." && pwd)
exec sh "$root/scripts/with-runtime.sh" src/cli/main.ts "$@"
