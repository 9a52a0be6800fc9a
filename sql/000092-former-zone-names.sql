-- Time zones of people and projects have their names of today: tzdata of Debian 13 does not know the former ones, which browsers gave, and one
-- unknown name fails a statement about all people. As in src/http/time-zone.ts.

with renamed (former, present) as (
  values
    ('Africa/Asmera', 'Africa/Asmara'),
    ('America/Buenos_Aires', 'America/Argentina/Buenos_Aires'),
    ('America/Catamarca', 'America/Argentina/Catamarca'),
    ('America/Coral_Harbour', 'America/Atikokan'),
    ('America/Cordoba', 'America/Argentina/Cordoba'),
    ('America/Godthab', 'America/Nuuk'),
    ('America/Indianapolis', 'America/Indiana/Indianapolis'),
    ('America/Jujuy', 'America/Argentina/Jujuy'),
    ('America/Louisville', 'America/Kentucky/Louisville'),
    ('America/Mendoza', 'America/Argentina/Mendoza'),
    ('Asia/Calcutta', 'Asia/Kolkata'),
    ('Asia/Katmandu', 'Asia/Kathmandu'),
    ('Asia/Rangoon', 'Asia/Yangon'),
    ('Asia/Saigon', 'Asia/Ho_Chi_Minh'),
    ('Atlantic/Faeroe', 'Atlantic/Faroe'),
    ('Europe/Kiev', 'Europe/Kyiv'),
    ('Pacific/Enderbury', 'Pacific/Kanton'),
    ('Pacific/Ponape', 'Pacific/Pohnpei'),
    ('Pacific/Truk', 'Pacific/Chuuk')
), people as (
  update xuser set time_zone = r.present from renamed r where lower(xuser.time_zone) = lower(r.former)
)
update project set time_zone = r.present from renamed r where lower(project.time_zone) = lower(r.former);
