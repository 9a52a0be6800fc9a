#!/bin/sh
# A standby of the server `database`: copies it at the first start, then follows it. The arguments are those of the server.
set -eu
export PGPASSWORD="$REPLICATION_PASSWORD"
if [ ! -e "$PGDATA/copied" ]; then
  find "$PGDATA" -mindepth 1 -delete # what a copy that did not end has left
  pg_basebackup --host=database --username=replicator --pgdata="$PGDATA" --checkpoint=fast --wal-method=stream --slot=standby
  chmod 0700 "$PGDATA"
  touch "$PGDATA/standby.signal" "$PGDATA/copied"
fi
# It may be promoted: then it waits for nobody, and `database` is another server's name.
exec postgres "$@" -c synchronous_standby_names= -c primary_slot_name=standby \
  -c 'primary_conninfo=host=database user=replicator application_name=standby'
