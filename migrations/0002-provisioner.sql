-- The provisioner: its client's account on each node, who holds a seat, what was built, and who is told of events.
-- And what a report says of a declaration that the bus has lost.

-- The node goes on with what it accepted, and the bus holds nothing for it any more (C76).
alter table mesh.reports add column declaration_gone boolean not null default false;

-- The public key of the bus user that the node's provisioner client is; absent on a node that joined without one.
alter table mesh.nodes add column client_key text unique;

alter table mesh.bus_credentials drop constraint bus_credentials_kind_check;
alter table mesh.bus_credentials add constraint bus_credentials_kind_check
  check (kind in ('node', 'client', 'token', 'program', 'seat'));

-- A seat is held by one module on one node; its processes share the lease (P3). All times are the store's own.
create table mesh.seat_leases (
  seat       text primary key,
  module     text not null,
  node       text not null,
  -- Of the module's processes the one that serves.
  process    text not null,
  held_since timestamptz not null default now(),
  expires_at timestamptz not null
);

-- Artifacts that were built: a version is published when all that it builds is here.
create table mesh.builds (
  module      text not null,
  version     text not null,
  artifact    text not null,
  digest      text not null,
  recorded_at timestamptz not null default now(),
  primary key (module, version, artifact),
  foreign key (module, version) references mesh.module_versions on delete cascade
);

create index events_to_relay on mesh.events (id) where relayed_at is null;

-- Wakes who relays; that something is to be relayed is in the rows, so nothing is lost where nobody listens.
create function mesh.tell_of_events() returns trigger language plpgsql as $$
begin
  perform pg_notify('mesh_events', '');
  return null;
end
$$;
create trigger events_tell after insert on mesh.events
  for each statement execute function mesh.tell_of_events();

-- When the last artifact that a version builds was recorded; a version that builds nothing is published with its adding.
alter table mesh.module_versions add column published_at timestamptz;
update mesh.module_versions set published_at = added_at;

-- M23: under which public domain the labels of a node's routes are names; and labels that the operator set for an assignment.
alter table mesh.nodes add column public_domain text;
create table mesh.route_labels (
  node    text not null references mesh.nodes on delete cascade,
  module  text not null references mesh.modules on delete cascade,
  listens text not null,
  label   text not null,
  primary key (node, module, listens)
);

-- Modules whose files the node left as they are, more than two passes in a row (P10).
alter table mesh.reports add column postponed jsonb;
