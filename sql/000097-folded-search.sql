-- Search finds a name without its accents and in any case: Öztürk by ozturk. The extension unaccent is not on every server.

-- A text as it is compared in a search. As in dashboard/folded.ts. ASCII, which most ids are, takes the short way. Capitals of ASCII go first,
-- by "C": in a Turkish locale, lower('I') is no i.
create function folded(words text) returns text language sql immutable strict parallel safe as $$
  select case
    when octet_length(words) = char_length(words) then lower(words collate "C")
    else replace(replace(replace(replace(
      translate(lower(lower(regexp_replace(normalize(words, nfd), '[\u0300-\u036f]', '', 'g') collate "C") collate "default"), 'ıøØłŁđĐħĦ', 'ioollddhh'),
      'ß', 'ss'), 'ẞ', 'ss'), 'æ', 'ae'), 'œ', 'oe') collate "C"
  end
$$;
