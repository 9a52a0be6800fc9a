-- A biosignal of a project's own is found by its abbreviation, whatever the catalog has or gets: until now the catalog's hid one of the same
-- name, and the measurements of a device's new code were lost where its abbreviation was that of another code of the project.

-- An abbreviation for a biosignal of a project: the wanted one, or where another is found by it, the wanted one with -OWN, -OWN2 and so on.
-- Capitals of ASCII make no difference, as in widgets. Volatile: it sees what the same statement has inserted.
create function free_abbreviation(of_project uuid, of_biosignal integer, wanted text) returns text language plpgsql set search_path = public, pg_temp as $$
declare
  candidate text := wanted;
  tries integer := 0;
begin
  while exists (
    select from biosignal b
    where b.id <> of_biosignal and case when b.project_id is null
      then lower(candidate collate "C") in (lower(b.abbreviation collate "C"), lower(b.name collate "C"), b.feature)
      else b.project_id = of_project and lower(b.abbreviation collate "C") = lower(candidate collate "C") end
  ) loop
    tries := tries + 1;
    candidate := wanted || '-OWN' || case when tries > 1 then tries::text else '' end;
  end loop;
  return candidate;
end
$$;

-- Those that projects have already; of two that differ in their capitals the first keeps its own.
do $$
declare
  own biosignal;
begin
  for own in select * from biosignal where project_id is not null order by id loop
    if exists (
      select from biosignal b
      where case when b.project_id is null
        then lower(own.abbreviation collate "C") in (lower(b.abbreviation collate "C"), lower(b.name collate "C"), b.feature)
        else b.project_id = own.project_id and b.id < own.id and lower(b.abbreviation collate "C") = lower(own.abbreviation collate "C") end
    ) then
      update biosignal set abbreviation = free_abbreviation(own.project_id, own.id, own.abbreviation) where id = own.id;
    end if;
  end loop;
end
$$;

-- What devices report under a new code, and what comes with an organization from another database.
create function give_free_abbreviation() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
  new.abbreviation := free_abbreviation(new.project_id, new.id, new.abbreviation);
  return new;
end
$$;
create trigger biosignal_own before insert on biosignal for each row when (new.project_id is not null) execute function give_free_abbreviation();

-- What the catalog gets in a later release moves aside what projects had named so.
create function move_own_aside() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
  update biosignal set abbreviation = free_abbreviation(project_id, id, abbreviation)
    where project_id is not null and lower(abbreviation collate "C") in (lower(new.abbreviation collate "C"), lower(new.name collate "C"), new.feature);
  return null;
end
$$;
create trigger biosignal_catalog after insert or update of abbreviation, name, feature on biosignal for each row when (new.project_id is null)
  execute function move_own_aside();
