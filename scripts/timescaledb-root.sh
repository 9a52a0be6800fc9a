#!/bin/sh
# A private TimescaleDB (Apache edition, Debian 13) without containers: a Debian root in a folder of its own, PostgreSQL 17 on loopback.
#   sh scripts/timescaledb-root.sh start DIR PORT   makes the root where it is absent (one to two minutes), starts the server, prints its address
#   sh scripts/timescaledb-root.sh stop DIR         stops it; remove DIR to remove everything
# Needs root (chroot) and the Debian package debootstrap. Nothing outside DIR is changed and nothing is mounted.
set -eu
action=${1:?start or stop}
dir=${2:?folder}
port=${3:-5516}
bin=/usr/lib/postgresql/17/bin
data=/var/lib/postgresql/biosignal
as_postgres() { chroot "$dir" setpriv --reuid=postgres --regid=postgres --clear-groups env HOME=/var/lib/postgresql PATH="$bin:/usr/bin:/bin" LC_ALL=C.UTF-8 "$@"; }

case $action in
start)
  [ "$(id -u)" = 0 ] || { echo "timescaledb-root: needs root for chroot" >&2; exit 1; }
  if [ ! -e "$dir/.ready" ]; then
    command -v debootstrap >/dev/null || { echo "timescaledb-root: needs the Debian package debootstrap" >&2; exit 1; }
    # A folder of something else is not ours to remove; one that was begun and not finished has its log next to it.
    if [ -n "$(ls -A "$dir" 2>/dev/null)" ] && [ ! -e "$dir.log" ]; then
      echo "timescaledb-root: $dir is not empty, and no root of this script: name another folder" >&2
      exit 1
    fi
    rm -rf "$dir"
    debootstrap --variant=minbase --include=postgresql-17-timescaledb trixie "$dir" >"$dir.log" 2>&1 || { tail -5 "$dir.log" >&2; exit 1; }
    as_postgres initdb -D "$data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 >>"$dir.log"
    cat >>"$dir$data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
dynamic_shared_memory_type = mmap
shared_preload_libraries = 'timescaledb'
timescaledb.telemetry_level = off
max_connections = 200
max_worker_processes = 32
CONF
    touch "$dir/.ready"
  fi
  as_postgres pg_ctl -D "$data" -l "$data/log" -o "-p $port" -w start >/dev/null || { tail -5 "$dir$data/log" >&2; exit 1; }
  echo "postgres://postgres@127.0.0.1:$port/postgres"
  ;;
stop)
  as_postgres pg_ctl -D "$data" -m fast -w stop >/dev/null
  ;;
*)
  echo "timescaledb-root: start or stop" >&2
  exit 2
  ;;
esac
