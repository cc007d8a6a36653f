-- The mesh's own schema. Plain SQL, forward only; no column holds a value that opens anything.

create schema if not exists mesh;

create table mesh.nodes (
  node                text primary key,
  -- invited: a token is out. proven: it showed that it holds its keys. joined: it has an account on the bus.
  state               text not null check (state in ('invited', 'proven', 'joined')),
  -- Where other nodes reach it; told at enrolment.
  address             text,
  -- Public halves only. The fingerprint names the sealing key that blobs were sealed to.
  identity_key        text unique,
  sealing_key         bytea unique,
  sealing_fingerprint text,
  overlay_key         text unique,
  invited_at          timestamptz not null default now(),
  joined_at           timestamptz,
  -- Whether the host ever said what the node can do; "never reported" and "reported nothing" are different (M11).
  capabilities_reported boolean not null default false
);

create table mesh.invitations (
  token_id        text primary key,
  node            text not null references mesh.nodes on delete cascade,
  -- The public key of the bus user that the token carries the seed of.
  user_key        text not null unique,
  created_at      timestamptz not null default now(),
  expires_at      timestamptz not null,
  -- When the bus was told of the token's account: from then on the token can be handed out.
  opened_at       timestamptz,
  -- What the joining node sent: public keys, and the address it is reached at.
  enrolment       jsonb,
  -- SHA-256 of the random value that the node must return opened (U16); the value itself is kept nowhere.
  challenge_hash  bytea,
  -- A token has one enrolment; its keys may change until they are proven, never after.
  proven_at       timestamptz,
  admitted_at     timestamptz,
  closed_at       timestamptz
);

create table mesh.node_capabilities (
  node    text not null references mesh.nodes on delete cascade,
  name    text not null,
  present boolean not null,
  detail  jsonb not null default '{}',
  reason  text,
  primary key (node, name)
);

create table mesh.carried_ports (
  node     text not null references mesh.nodes on delete cascade,
  protocol text not null check (protocol in ('tcp', 'udp')),
  port     int not null,
  primary key (node, protocol, port)
);

create table mesh.modules (
  module   text primary key,
  version  text not null,
  added_at timestamptz not null default now()
);

create table mesh.module_versions (
  module   text not null references mesh.modules on delete cascade,
  version  text not null,
  manifest jsonb not null,
  -- path in the module's folder → { content, encoding, mode }
  files    jsonb not null default '{}',
  digest   text not null,
  added_at timestamptz not null default now(),
  primary key (module, version)
);

create table mesh.assignments (
  node        text not null references mesh.nodes,
  module      text not null references mesh.modules,
  assigned_at timestamptz not null default now(),
  primary key (node, module)
);

create table mesh.settings (
  node   text not null references mesh.nodes on delete cascade,
  module text not null references mesh.modules on delete cascade,
  name   text not null,
  value  jsonb not null,
  primary key (node, module, name)
);

-- Removing a node drops the pins made on it and the pins at it (M4).
create table mesh.pins (
  node            text not null references mesh.nodes on delete cascade,
  provision       text not null,
  provider_node   text not null references mesh.nodes on delete cascade,
  provider_module text references mesh.modules on delete cascade,
  primary key (node, provision)
);

create table mesh.bindings (
  node            text not null references mesh.nodes on delete cascade,
  module          text not null references mesh.modules on delete cascade,
  provision       text not null,
  provider_node   text not null references mesh.nodes on delete cascade,
  provider_module text not null references mesh.modules on delete cascade,
  primary key (node, module, provision)
);

create table mesh.ports (
  node        text not null references mesh.nodes on delete cascade,
  module      text not null references mesh.modules on delete cascade,
  listens     text not null,
  protocol    text not null check (protocol in ('tcp', 'udp')),
  port        int not null check (port between 1 and 65535),
  fixed       boolean not null,
  -- Given back, while the machine may still run what had it: nobody else gets it until the node has answered.
  released_at timestamptz,
  primary key (node, protocol, port)
);
create unique index ports_one_a_name on mesh.ports (node, module, listens, protocol) where released_at is null;

-- A singular thing on a node, or in the mesh (then place is '*'); one holder (M13).
create table mesh.claims (
  name   text not null,
  place  text not null,
  node   text not null references mesh.nodes on delete cascade,
  module text not null references mesh.modules on delete cascade,
  primary key (name, place)
);

create table mesh.own_secrets (
  node             text not null references mesh.nodes,
  module           text not null references mesh.modules,
  name             text not null,
  origin           text not null check (origin in ('made', 'accepted')),
  node_blob        bytea not null,
  node_fingerprint text not null,
  operator_blob        bytea,
  operator_fingerprint text,
  -- The act that made it, so that a step that runs twice makes nothing twice.
  act              text,
  made_at          timestamptz not null default now(),
  primary key (node, module, name)
);

-- local '' stands for the plain form: no local name is empty (M27).
create table mesh.pair_secrets (
  provision            text not null,
  provider_node        text not null references mesh.nodes,
  provider_module      text not null references mesh.modules,
  consumer_node        text not null references mesh.nodes,
  consumer_module      text not null references mesh.modules,
  local                text not null default '',
  generation           int  not null check (generation > 0),
  stage                text not null check (stage in ('arriving', 'current', 'leaving', 'withdrawn')),
  origin               text not null check (origin in ('made', 'accepted')),
  consumer_blob        bytea not null,
  consumer_fingerprint text not null,
  provider_blob        bytea not null,
  provider_fingerprint text not null,
  operator_blob        bytea,
  operator_fingerprint text,
  -- The act that made it, so that a step that runs twice makes nothing twice.
  act                  text,
  made_at              timestamptz not null default now(),
  primary key (provision, provider_node, provider_module, consumer_node, consumer_module, local, generation)
);
create unique index pair_secrets_one_current on mesh.pair_secrets
  (provision, provider_node, provider_module, consumer_node, consumer_module, local) where stage = 'current';
create index pair_secrets_by_act on mesh.pair_secrets (act) where act is not null;

-- One row a credential that an act is changing (A1.0); the path is domain/credential's.
create table mesh.credential_locks (
  credential text primary key,
  act        text not null,
  locked_at  timestamptz not null default now()
);

-- What an act has done, for the act's own steps and for `mesh acts`: the store says whether the commit happened.
create table mesh.acts (
  act          text primary key,
  workflow_id  text not null,
  kind         text not null,
  summary      text not null,
  person       text not null,
  -- preparing, committed, closed, abandoned, failed
  stage        text not null,
  -- Names, numbers and digests only; never a value, sealed or not (A11).
  detail       jsonb not null default '{}',
  started_at   timestamptz not null default now(),
  committed_at timestamptz,
  ended_at     timestamptz
);

create sequence mesh.declaration_number;

create table mesh.sent_declarations (
  node            text primary key references mesh.nodes on delete cascade,
  digest          text not null,
  number          bigint not null,
  -- The stream's sequence of the message, which the next send expects to be the subject's last (D4).
  stream_sequence bigint not null,
  -- resource id → digest
  resources       jsonb not null,
  sent_at         timestamptz not null default now()
);

create table mesh.reports (
  node           text primary key references mesh.nodes on delete cascade,
  boot           bigint not null,
  sequence       bigint not null,
  outcome        text not null check (outcome in ('idle', 'applied', 'failed', 'refused')),
  digest         text,
  number         bigint,
  declared       int not null,
  applied        int not null,
  failures       jsonb not null default '[]',
  refusal        jsonb,
  drift          jsonb not null default '[]',
  kept           jsonb not null default '[]',
  interval_ms    int not null,
  stamped_at     text not null,
  -- By the controller's clock.
  received_at    timestamptz not null default now(),
  -- The present failure: since when, and how many reports in a row said the same (D17).
  failing_since  timestamptz,
  failing_reports int not null default 0
);

-- What the granters on a node last said, one row a provider module (S8).
create table mesh.granter_reports (
  node      text not null references mesh.nodes on delete cascade,
  module    text not null,
  provision text not null,
  status    jsonb not null,
  received_at timestamptz not null default now(),
  primary key (node, module, provision)
);

-- Who has an account on the bus: public halves only.
create table mesh.bus_credentials (
  account_key text primary key,
  kind        text not null check (kind in ('node', 'token', 'program', 'seat')),
  name        text not null,
  user_key    text not null,
  user_jwt    text not null,
  created_at  timestamptz not null default now(),
  -- When the bus was seen to have the account; until then it may have it or not.
  pushed_at   timestamptz,
  revoked_at  timestamptz
);
create unique index bus_credentials_one_live on mesh.bus_credentials (kind, name) where revoked_at is null;

-- A message that nobody can read is kept aside and counted, never dropped (U17).
create table mesh.unreadable_messages (
  id          bigint generated always as identity primary key,
  subject     text not null,
  reason      text not null,
  body        bytea not null,
  received_at timestamptz not null default now()
);

-- Outbox and audit log in one: written in the transaction of what it tells of.
create table mesh.events (
  id      bigint generated always as identity primary key,
  at      timestamptz not null default now(),
  person  text not null,
  kind    text not null,
  about   text not null,
  detail  jsonb not null default '{}',
  relayed_at timestamptz
);
