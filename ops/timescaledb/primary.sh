#!/bin/sh
# Once, when the database is made (/docker-entrypoint-initdb.d of the image): lets a standby follow, and has every commit wait for it.
set -eu
psql --quiet --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set password="$REPLICATION_PASSWORD" <<'SQL'
create role replicator login replication password :'password';
select pg_create_physical_replication_slot('standby');
-- From the next start on, which is the one after this script: what makes the database does not wait for a standby that is not there yet.
alter system set synchronous_standby_names = 'standby';
SQL
echo 'host replication replicator all scram-sha-256' >>"$PGDATA/pg_hba.conf"
