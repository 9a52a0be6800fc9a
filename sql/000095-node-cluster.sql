-- A node that talks under another name than the others reaches none of them: it is refused before it takes their people.

alter table cluster_node
  add column cluster text not null default ''; -- BIO_CLUSTER; empty: it does not talk over NATS, or is of a release before
