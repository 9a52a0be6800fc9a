-- Every page of the dashboard shows how many episodes are open, and the open ones are few among all that were ever kept.

create index episode_open_idx on episode (organization_id, started_at) where status = 'open';
