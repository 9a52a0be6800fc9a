-- A biosignal of a project's own is found by its abbreviation, whatever the catalog has or gets: until now the catalog's hid one of that
-- name, and the measurements of a device's new code were lost where its abbreviation was that of another code of the project.

-- A name by which biosignals are told apart, as nameKey in src/signal.ts has it: capitals make no difference, nor how an accent is encoded;
-- the accent does, other than in a search (folded). Decomposed, and capitals of ASCII first, by "C": so Ä is ä in every locale, and I is i
-- in a Turkish one. Where the locale of the database knows no other letters, as "C", Я and я are two names; to a service they are one, and
-- it refuses the second.
create function name_key(name text) returns text language sql immutable parallel safe as $$
  select case
    when octet_length(name) = char_length(name) then lower(name collate "C")
    else lower(lower(normalize(name, nfd) collate "C") collate "default") collate "C"
  end
$$;

-- An abbreviation for a biosignal of a project: the wanted one, or where another is found by it, the wanted one with -OWN, -OWN2 and so on.
-- What looks like an id or a LOINC code is one of another, now or later. Volatile: it sees what the same statement has inserted.
create function free_abbreviation(of_project uuid, of_biosignal integer, wanted text) returns text language plpgsql set search_path = public, pg_temp as $$
declare
  candidate text := wanted;
  tries integer := 0;
begin
  while candidate ~ '^[0-9]+(-[0-9])?$'
    or exists (select from biosignal b where b.project_id = of_project and name_key(b.abbreviation) = name_key(candidate) and b.id <> of_biosignal)
    or exists (select from biosignal b where b.project_id is null and name_key(candidate) in (name_key(b.abbreviation), name_key(b.name), b.feature))
  loop
    tries := tries + 1;
    candidate := wanted || '-OWN' || case when tries > 1 then tries::text else '' end;
  end loop;
  return candidate;
end
$$;

-- Those that projects have already; of two that differ in their capitals the first keeps its own. The index is for free_abbreviation, until
-- the one below can be made.
create index biosignal_name_key on biosignal (name_key(abbreviation), project_id);
do $$
declare
  own record;
begin
  for own in
    select b.id, b.project_id, b.abbreviation
    from (
      select id, project_id, abbreviation, row_number() over (partition by project_id, name_key(abbreviation) order by id) as place
      from biosignal
      where project_id is not null
    ) b
    where b.place > 1 or b.abbreviation ~ '^[0-9]+(-[0-9])?$' or name_key(b.abbreviation) in (
      select unnest(array[name_key(abbreviation), name_key(name), coalesce(feature, name_key(name))]) from biosignal where project_id is null)
    order by b.id
  loop
    update biosignal set abbreviation = free_abbreviation(own.project_id, own.id, own.abbreviation) where id = own.id;
  end loop;
end
$$;
drop index biosignal_name_key;

-- Requests at the same time do not see each other's; rows of the catalog have no project and are not compared.
create unique index biosignal_name_key on biosignal (name_key(abbreviation), project_id);

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
    where project_id is not null and name_key(abbreviation) in (name_key(new.abbreviation), name_key(new.name), new.feature);
  return null;
end
$$;
create trigger biosignal_catalog after insert or update of abbreviation, name, feature on biosignal for each row when (new.project_id is null)
  execute function move_own_aside();
