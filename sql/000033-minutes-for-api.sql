-- Minutes as columns for the api role: of the streams of the organization that the transaction has named, as the views of 000016-roles.sql
-- show them. The function reads as the owner; whose streams they are is asked here, once.

create function api.feature_minutes(stream_ids integer[], method smallint, from_time timestamptz, to_time timestamptz, what text, worst integer)
returns table (minutes json, ns json, value_ns json, good_ns json, suspect_ns json, goods json, suspects json, everies json)
language plpgsql stable security definer set search_path = public, pg_temp as $$
begin
  return query select f.* from public.feature_minutes(
    array(select s.id from public.stream s where s.id = any (stream_ids) and s.organization_id = public.current_organization()),
    method, from_time, to_time, what, worst) f;
end
$$;
revoke execute on function feature_minutes(integer[], smallint, timestamptz, timestamptz, text, integer) from public;
revoke execute on function api.feature_minutes(integer[], smallint, timestamptz, timestamptz, text, integer) from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'biosignal_api') then
    grant execute on function api.feature_minutes(integer[], smallint, timestamptz, timestamptz, text, integer) to biosignal_api;
  end if;
end
$$;
