#!/bin/sh
# A standby of the server `database` (or PRIMARY_HOST, PRIMARY_PORT): copies it at the first start, then follows it. The arguments are those
# of the server.
set -eu
host=${PRIMARY_HOST:-database} port=${PRIMARY_PORT:-5432}
export PGPASSWORD="$REPLICATION_PASSWORD"
if [ ! -e "$PGDATA/copied" ]; then
  find "$PGDATA" -mindepth 1 -delete # what a copy that did not end has left
  pg_basebackup --host="$host" --port="$port" --username=replicator --pgdata="$PGDATA" --checkpoint=fast --wal-method=stream --slot=standby
  chmod 0700 "$PGDATA"
  touch "$PGDATA/standby.signal" "$PGDATA/copied"
fi
# It may be promoted: then it waits for nobody.
exec postgres "$@" -c synchronous_standby_names= -c primary_slot_name=standby \
  -c "primary_conninfo=host=$host port=$port user=replicator application_name=standby"
