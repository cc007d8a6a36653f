/**
 * The inventory, in a constant number of queries whatever the mesh's size. Each big table comes as one text a node, and a node of
 * which all texts are as they were is not looked into again: it keeps its record, and with it what was worked out from it.
 */
import { z } from 'zod';
import { origin, stage, type OwnSecret, type PairSecret, type SealedCopy } from '../domain/credential/credential.ts';
import { capability } from '../domain/report/report.ts';
import { inventoryOf, type NodeRecord } from '../domain/resolution/node-record.ts';
import type { BindingRow, Inventory, NodeFacts, Pin, PortRow } from '../domain/resolution/inventory.ts';
import {
  localName,
  moduleName,
  nodeName,
  partName,
  provisionName,
  type ModuleName,
  type NodeName,
} from '../domain/words/names.ts';
import { manifestCache } from './manifest-cache.ts';
import type { Query } from './query.ts';

export type InventoryReader = {
  /** All that declarations are composed from. One snapshot when `query` is inside a repeatable-read transaction. */
  read(query: Query): Promise<Inventory>;
};

/** A reader of one store. Of two that it reads, the nodes that are the same in both have the same records. */
export function inventoryReader(): InventoryReader {
  const manifests = manifestCache();
  let known: ReadonlyMap<NodeName, Read> = new Map();
  return {
    async read(query) {
      // Sent in a row and answered in a row: the way there and back is gone once.
      const [nodes, modules, ...tables] = await Promise.all([
        query.tuples(nodesQuery),
        manifests.read(query),
        textByNode(query, 'mesh.node_capabilities', 'node', capabilitiesText),
        textByNode(query, 'mesh.carried_ports', 'node', words('protocol', 'port')),
        textByNode(query, 'mesh.assignments', 'node', words('module')),
        textByNode(query, 'mesh.pins', 'node', words('provision', 'provider_node', `coalesce(provider_module, '')`)),
        textByNode(query, 'mesh.bindings', 'node', words('module', 'provision', 'provider_node', 'provider_module')),
        textByNode(
          query,
          'mesh.ports where released_at is null',
          'node',
          words('module', 'listens', 'protocol', 'port', 'fixed'),
        ),
        textByNode(
          query,
          'mesh.own_secrets',
          'node',
          words('module', 'name', 'origin', hex('node_blob'), 'node_fingerprint'),
        ),
        textByNode(
          query,
          `mesh.pair_secrets where stage <> 'withdrawn'`,
          'consumer_node',
          words(
            'provision',
            'provider_node',
            'provider_module',
            'consumer_module',
            'local',
            'generation',
            'stage',
            'origin',
            hex('consumer_blob'),
            'consumer_fingerprint',
            hex('provider_blob'),
            'provider_fingerprint',
          ),
        ),
      ]);
      const read = new Map(
        nodes.map(([name, ...facts]): [NodeName, Read] => {
          const node = names.node(name);
          const texts = [JSON.stringify(facts), ...tables.map((table) => table.get(node) ?? '')];
          const before = known.get(node);
          const isSame = before?.texts.every((text, at) => text === texts[at]) === true;
          return [node, isSame ? before : { texts, record: recordOf(node, facts, texts) }];
        }),
      );
      known = read;
      return inventoryOf(modules, new Map([...read].map(([node, { record }]) => [node, record])));
    },
  };
}

type Read = { readonly texts: readonly string[]; readonly record: NodeRecord };

const nodesQuery = `select node, address, sealing_fingerprint, capabilities_reported from mesh.nodes order by node`;
const capabilitiesText = `jsonb_agg(case when present then jsonb_build_object('name', name, 'present', true, 'detail', detail)
  else jsonb_build_object('name', name, 'present', false, 'reason', coalesce(reason, '')) end order by name)::text`;

/** Rows as words with a blank between them, and a comma between rows: no name, number or fingerprint holds either (M27). */
const words = (...columns: readonly string[]): string => `string_agg(concat_ws(' ', ${columns.join(', ')}), ',')`;
const hex = (column: string): string => `encode(${column}, 'hex')`;

/**
 * One text for each node that has rows. Ten times faster than the rows, of which most of the time is spent on taking them off the
 * wire. They come in no order: where that is another one, the node is looked into, and is found to be as it was.
 */
async function textByNode(
  query: Query,
  from: string,
  node: string,
  text: string,
): Promise<ReadonlyMap<unknown, string>> {
  const tuples = await query.tuples(`select ${node}, ${text} from ${from} group by ${node}`);
  return new Map(tuples.map(([name, found]) => [name, textOf(found)]));
}

function recordOf(node: NodeName, facts: readonly unknown[], texts: readonly string[]): NodeRecord {
  const [, capabilities = '', carried = '', assigned = '', pins = '', bindings = '', ports = '', own = '', pairs = ''] =
    texts;
  return {
    facts: nodeFacts(node, facts, capabilities, carried),
    assigned: rowsIn(assigned, ([module]) => names.module(module)),
    pins: rowsIn(pins, (row) => pin(node, row)),
    bindings: rowsIn(bindings, (row) => binding(node, row)),
    ports: rowsIn(ports, (row) => port(node, row)),
    ownSecrets: rowsIn(own, (row) => ownSecret(node, row)),
    pairSecrets: rowsIn(pairs, (row) => pairSecret(node, row)),
  };
}

type Words = readonly (string | undefined)[];

/** The rows of a text, in an order of their own. */
function rowsIn<Row>(text: string, shape: (row: Words) => Row): readonly Row[] {
  if (text === '') return [];
  return text
    .split(',')
    .toSorted()
    .map((row) => shape(row.split(' ')));
}

function nodeFacts(
  name: NodeName,
  [address, fingerprint, reported]: readonly unknown[],
  capabilities: string,
  carried: string,
): NodeFacts {
  return {
    name,
    // A node that was only invited has none yet; nothing is sent to it.
    address: address === null ? '' : textOf(address),
    ...(fingerprint !== null && { sealingFingerprint: textOf(fingerprint) }),
    // A node that never reported has no list of capabilities, not an empty one (M11).
    ...(reported === true && { capabilities: capabilitiesIn.parse(JSON.parse(capabilities || '[]')) }),
    carriedPorts: rowsIn(carried, ([protocol, number]) => ({
      protocol: protocolIn(protocol),
      port: Number(number),
    })),
  };
}
const capabilitiesIn = z.array(capability);

function pin(node: NodeName, [provision, providerNode, providerModule]: Words): Pin {
  const provider = { node: names.node(providerNode) };
  return {
    node,
    provision: names.provision(provision),
    provider: providerModule === '' ? provider : { ...provider, module: names.module(providerModule) },
  };
}

function binding(node: NodeName, [module, provision, providerNode, providerModule]: Words): BindingRow {
  return {
    node,
    module: names.module(module),
    provision: names.provision(provision),
    provider: { node: names.node(providerNode), module: names.module(providerModule) },
  };
}

function port(node: NodeName, [module, listens, protocol, number, fixed]: Words): PortRow {
  return {
    node,
    module: names.module(module),
    listens: names.part(listens),
    protocol: protocolIn(protocol),
    port: Number(number),
    fixed: fixed === 't',
  };
}

function ownSecret(node: NodeName, [module, name, from, blob, fingerprint]: Words): OwnSecret {
  return {
    key: { node, module: names.module(module), name: names.part(name) },
    origin: origin.parse(from),
    node: sealedCopy(blob, fingerprint),
  };
}

function pairSecret(consumerNode: NodeName, row: Words): PairSecret {
  const [provision, providerNode, providerModule, consumerModule, local, generation, at, from, ...copies] = row;
  const [consumerBlob, consumerFingerprint, providerBlob, providerFingerprint] = copies;
  const key = {
    provision: names.provision(provision),
    providerNode: names.node(providerNode),
    providerModule: names.module(providerModule),
    consumerNode,
    consumerModule: names.module(consumerModule),
  };
  return {
    key: local === '' ? key : { ...key, local: names.local(local) },
    generation: Number(generation),
    stage: stage.parse(at),
    origin: origin.parse(from),
    consumer: sealedCopy(consumerBlob, consumerFingerprint),
    provider: sealedCopy(providerBlob, providerFingerprint),
  };
}

function sealedCopy(blob: string | undefined, fingerprint: string | undefined): SealedCopy {
  if (blob === undefined || fingerprint === undefined) throw unexpected('sealed copy', typeof blob);
  return { sealed: Buffer.from(blob, 'hex').toString('base64'), fingerprint };
}

function protocolIn(word: string | undefined): PortRow['protocol'] {
  if (word !== 'tcp' && word !== 'udp') throw unexpected('protocol', word);
  return word;
}

function textOf(found: unknown): string {
  if (typeof found !== 'string') throw unexpected('text', found);
  return found;
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
  module: once<ModuleName>((text) => moduleName.parse(text)),
  provision: once((text) => provisionName.parse(text)),
  part: once((text) => partName.parse(text)),
  local: once((text) => localName.parse(text)),
};

const unexpected = (what: string, found: unknown): Error =>
  new Error(`the store holds no ${what} where one belongs: ${String(found)}`);
