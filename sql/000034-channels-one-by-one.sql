-- Channels and artifacts are looked at one by one: is this one's stream, or episode, of the organization? As `in (select …)` of
-- 000016-roles.sql each question read all streams, or episodes, that the organization has. Who sees what is as it was.

do $$
begin
  if not exists (select from pg_policies where schemaname = 'public' and policyname = 'stream_channel_own') then
    return; -- there are no roles (000016-roles.sql)
  end if;
  alter policy stream_channel_own on stream_channel
    using (exists (select from stream s where s.id = stream_channel.stream_id and s.organization_id = current_organization()));
  alter policy artifact_own on artifact
    using (exists (select from episode e where e.id = artifact.episode_id and e.organization_id = current_organization()));
end
$$;
