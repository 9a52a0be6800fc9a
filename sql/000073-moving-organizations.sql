-- An organization is moved to another database: from a moment on nobody writes its rows here.

alter table organization add column moving_at timestamptz; -- since then its requests are answered 503
