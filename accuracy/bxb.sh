#!/bin/sh
# sh accuracy/bxb.sh [DIR]: scores our R peaks with WFDB's own bxb, from minute 5, first lead, and adds the records up.
# DIR: WFDB records with .atr annotations, ../shared/data/mitdb by default. Needs WFDB's `bxb` on the PATH, or its path in BXB.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
from=$(cd "${1:-$here/../../shared/data/mitdb}" && pwd)
bxb=${BXB:-bxb}
command -v "$bxb" >/dev/null || { echo "no bxb: build WFDB's applications (physionet.org) and name bxb in BXB" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$from"/*.hea "$from"/*.dat "$from"/*.atr "$work"
cd "$work"
for header in *.hea; do
  sh "$here/biosignal.sh" detect "$work/$header" --lead 0 --annotator bio >/dev/null
  WFDB=. "$bxb" -r "${header%.hea}" -a atr bio -f 5:0 -L bxb.out sd.out >/dev/null 2>&1
done
cat bxb.out
# Columns of bxb's line format: matched pairs, detections without a beat (…o), beats without a detection (o…).
awk 'NR > 1 { hit += $2 + $3 + $4 + $5 + $7 + $8 + $9 + $10 + $12 + $13 + $14 + $15
              extra += $6 + $11 + $16; missed += $17 + $18 + $19 + $20 }
     END { printf "gross: %d beats, %d missed, %d extra; Se %.3f  +P %.3f  F1 %.3f\n", hit + missed, missed, extra,
           100 * hit / (hit + missed), 100 * hit / (hit + extra), 200 * hit / (2 * hit + missed + extra) }' bxb.out
