/**
 * The inventory, in a constant number of queries whatever the mesh's size. Its big tables are read as tuples and checked by
 * type and by name alone: their names were parsed when they were written, and each distinct one is parsed once here.
 */
import type { OwnSecret, PairSecret, SealedCopy } from '../domain/credential/credential.ts';
import { origin, stage } from '../domain/credential/credential.ts';
import type { BindingRow, Inventory, NodeFacts, Pin, PortRow } from '../domain/resolution/inventory.ts';
import {
  localName,
  moduleName,
  nodeName,
  partName,
  provisionName,
  type NodeName,
  type Placed,
} from '../domain/words/names.ts';
import type { ManifestCache } from './manifest-cache.ts';
import type { Query } from './query.ts';
import { nodeReads } from './rows/node-rows.ts';

type Tuple = readonly unknown[];

/** All that declarations are composed from. One snapshot when `query` is inside a repeatable-read transaction. */
export async function inventory(query: Query, manifests: ManifestCache): Promise<Inventory> {
  // Sent in a row and answered in a row: the way there and back is gone once.
  const [known, modules, assignments, pins, bindings, ports, ownSecrets, pairSecrets] = await Promise.all([
    nodes(query),
    manifests.read(query),
    readByNode(query, 'mesh.assignments', ['module'], placed),
    read(query, `select node, provision, provider_node, provider_module from mesh.pins order by node, provision`, pin),
    readByNode(query, 'mesh.bindings', ['module', 'provision', 'provider_node', 'provider_module'], binding),
    readByNode(query, 'mesh.ports where released_at is null', ['module', 'listens', 'protocol', 'port', 'fixed'], port),
    read(
      query,
      `select node, module, name, origin, node_blob, node_fingerprint from mesh.own_secrets order by node, module, name`,
      ownSecret,
    ),
    read(
      query,
      `select provision, provider_node, provider_module, consumer_node, consumer_module, local, generation, stage, origin,
              consumer_blob, consumer_fingerprint, provider_blob, provider_fingerprint
         from mesh.pair_secrets
        where stage <> 'withdrawn'
        order by provider_node, provision, provider_module, consumer_node, consumer_module, local, generation`,
      pairSecret,
    ),
  ]);
  return { nodes: known, modules, assignments, pins, bindings, ports, ownSecrets, pairSecrets };
}

async function read<Row>(query: Query, sql: string, shape: (tuple: Tuple) => Row): Promise<Row[]> {
  return (await query.tuples(sql)).map(shape);
}

/**
 * Rows of a table that has many for each node, a node's at a time: one text of words with a blank between them. No name holds a
 * blank or a comma (M27). Ten times faster than as many rows, of which most of the time is spent on taking them off the wire.
 */
async function readByNode<Row>(
  query: Query,
  from: string,
  columns: readonly string[],
  shape: (tuple: Tuple) => Row,
): Promise<Row[]> {
  const listed = columns.join(', ');
  const nodes = await query.tuples(
    `select node, string_agg(concat_ws(' ', ${listed}), ',' order by ${listed}) from ${from} group by node order by node`,
  );
  return nodes.flatMap(([node, rows]) => {
    if (typeof rows !== 'string') throw unexpected('list of rows', rows);
    return rows.split(',').map((row) => shape([node, ...row.split(' ')]));
  });
}

async function nodes(query: Query): Promise<readonly NodeFacts[]> {
  return (await nodeReads(query).nodeRows()).map(
    ({ node, address, sealingFingerprint, capabilities, carriedPorts }) => ({
      name: node,
      // A node that was only invited has none yet; nothing is sent to it.
      address: address ?? '',
      ...(sealingFingerprint !== undefined && { sealingFingerprint }),
      ...(capabilities !== undefined && { capabilities }),
      carriedPorts,
    }),
  );
}

const placed = ([node, module]: Tuple): Placed => ({ node: names.node(node), module: names.module(module) });

function pin([node, provision, providerNode, providerModule]: Tuple): Pin {
  const provider = { node: names.node(providerNode) };
  return {
    node: names.node(node),
    provision: names.provision(provision),
    provider: providerModule === null ? provider : { ...provider, module: names.module(providerModule) },
  };
}

function binding([node, module, provision, ...provider]: Tuple): BindingRow {
  return { ...placed([node, module]), provision: names.provision(provision), provider: placed(provider) };
}

function port([node, module, listens, protocol, number, fixed]: Tuple): PortRow {
  if (protocol !== 'tcp' && protocol !== 'udp') throw unexpected('protocol', protocol);
  return {
    ...placed([node, module]),
    listens: names.part(listens),
    protocol,
    port: Number(number),
    fixed: fixed === 't',
  };
}

function ownSecret([node, module, name, from, blob, fingerprint]: Tuple): OwnSecret {
  return {
    key: { ...placed([node, module]), name: names.part(name) },
    origin: origin.parse(from),
    node: sealedCopy(blob, fingerprint),
  };
}

function pairSecret(tuple: Tuple): PairSecret {
  const [provision, providerNode, providerModule, consumerNode, consumerModule, local, generation, ...rest] = tuple;
  const [at, from, consumerBlob, consumerFingerprint, providerBlob, providerFingerprint] = rest;
  if (typeof generation !== 'number') throw unexpected('generation', generation);
  const key = {
    provision: names.provision(provision),
    providerNode: names.node(providerNode),
    providerModule: names.module(providerModule),
    consumerNode: names.node(consumerNode),
    consumerModule: names.module(consumerModule),
  };
  return {
    key: local === '' ? key : { ...key, local: names.local(local) },
    generation,
    stage: stage.parse(at),
    origin: origin.parse(from),
    consumer: sealedCopy(consumerBlob, consumerFingerprint),
    provider: sealedCopy(providerBlob, providerFingerprint),
  };
}

function sealedCopy(blob: unknown, fingerprint: unknown): SealedCopy {
  if (!Buffer.isBuffer(blob) || typeof fingerprint !== 'string') throw unexpected('sealed copy', typeof blob);
  return { sealed: blob.toString('base64'), fingerprint };
}

/** Parses each distinct name once; the same name is the same value from then on. */
function once<Name>(parse: (text: unknown) => Name): (text: unknown) => Name {
  const known = new Map<unknown, Name>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const name = parse(text);
    known.set(text, name);
    return name;
  };
}
const names = {
  node: once<NodeName>((text) => nodeName.parse(text)),
  module: once((text) => moduleName.parse(text)),
  provision: once((text) => provisionName.parse(text)),
  part: once((text) => partName.parse(text)),
  local: once((text) => localName.parse(text)),
};

const unexpected = (what: string, found: unknown): Error =>
  new Error(`the store holds no ${what} where one belongs: ${String(found)}`);
