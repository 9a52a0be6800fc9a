-- A node to which the database gives no new connection says so, and the others take its partitions.

alter table cluster_node
  add column refused boolean not null default false; -- its password was changed, as a rule: what it has open still works
