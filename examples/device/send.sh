#!/bin/sh
# Sends one packet with curl: first-packet.bin, or what another program writes (`./first-packet | sh send.sh -`).
set -eu
file=${1:-$(dirname -- "$0")/first-packet.bin}
curl --silent --show-error --fail-with-body --retry 5 \
  --header "Authorization: Bearer $BIO_KEY" \
  --header 'Content-Type: application/x-protobuf' \
  --data-binary "@$file" \
  "${BIO_URL:-http://127.0.0.1:8080}/ingest/raw-packet"
echo
