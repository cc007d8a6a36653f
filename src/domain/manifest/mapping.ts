/**
 * Port mappings written the long way, `[address:][machine port:]container port[/protocol]` (M20). They are left as they
 * are; this says what they take on the machine. A text that some reader might understand otherwise is refused, with the part at fault.
 */
import type { Protocol } from '../resolution/inventory.ts';

/** One port of a mapping. `host: null`: a free one is chosen. `ip: null`: on every address. */
export type Mapping = {
  readonly ip: string | null;
  readonly host: number | null;
  readonly container: number;
  readonly proto: Protocol;
};
export type MappingFault = { readonly part: string; readonly says: string };
export type ParsedMapping =
  { readonly kind: 'mapping'; readonly ports: readonly Mapping[] } | ({ readonly kind: 'fault' } & MappingFault);

const fault = (part: string, says: string): { readonly kind: 'fault' } & MappingFault => ({
  kind: 'fault',
  part,
  says,
});

/** Reads one mapping as a person wrote it: a text, or a number, which can only name the container's port (C29). */
export function parseMapping(written: string | number): ParsedMapping {
  const text = String(written);
  const parsed = parse(text);
  if (parsed.kind === 'mapping') return parsed;
  const why =
    typeof written === 'number' && parsed.part === 'number'
      ? `${parsed.says}; some readers of YAML turn a mapping like 22:22 into a number in base sixty: write it in quotes`
      : parsed.says;
  return { ...parsed, says: `${JSON.stringify(written)} is not a port mapping: ${why}` };
}

function parse(text: string): ParsedMapping {
  if (text === '') return fault('empty', 'it is empty; write "8080:80"');
  if (/\s/.test(text)) return fault('blank', 'it holds a blank');
  if (text.includes('://')) return fault('not a mapping', 'it is an address of a site; write "8080:80"');
  const [ports, protocol, more] = text.split('/');
  if (more !== undefined) return fault('protocol twice', 'it names more than one protocol; write one mapping for each');
  const proto = protocol === undefined ? 'tcp' : protocol.toLowerCase();
  if (proto === '')
    return fault('protocol missing', 'nothing stands after the slash; write /tcp or /udp, or leave it out');
  if (proto !== 'tcp' && proto !== 'udp')
    return fault('protocol', `${JSON.stringify(protocol)} is not a protocol that can be opened; write tcp or udp`);
  return parsePorts(ports ?? '', proto);
}

function parsePorts(text: string, proto: Protocol): ParsedMapping {
  const address = text.startsWith('[') ? bracketed(text) : dotted(text);
  if ('kind' in address) return address;
  const { ip, rest } = address;
  const machine = rest.length === 2 ? (rest[0] ?? '') : undefined;
  const inside = rest[rest.length - 1] ?? '';
  if (inside === '') return fault('container part missing', 'the container port is missing after the last colon');
  const container = rangeOf(inside, 'container');
  if ('kind' in container) return container;
  if (machine === '' && ip === null)
    return fault('host part missing', 'nothing stands before the colon; write just the container port');
  const host = machine === undefined || machine === '' ? undefined : rangeOf(machine, 'machine');
  if (host === undefined)
    return { kind: 'mapping', ports: container.map((port) => ({ ip, host: null, container: port, proto })) };
  if ('kind' in host) return host;
  if (host.length !== container.length)
    return fault(
      'ranges of other lengths',
      `${host.length} machine ports for ${container.length} container ports; write ranges of one length`,
    );
  return {
    kind: 'mapping',
    ports: container.map((port, index) => ({ ip, host: host[index] ?? null, container: port, proto })),
  };
}

type Address =
  { readonly ip: string | null; readonly rest: readonly string[] } | ({ readonly kind: 'fault' } & MappingFault);

function bracketed(text: string): Address {
  const close = text.indexOf(']');
  if (close < 0) return fault('bracket not closed', 'the bracket around the address is not closed');
  const ip = text.slice(1, close);
  if (ip.includes('%'))
    return fault('zone', `the zone in ${JSON.stringify(ip)} is not supported; write the address without it`);
  if (!isIpv6(ip)) return fault('address', `${JSON.stringify(ip)} is not an IPv6 address`);
  if (text[close + 1] !== ':') return fault('colon missing', 'a colon must follow the bracket');
  const rest = text.slice(close + 2).split(':');
  if (rest.length > 2) return fault('too many parts', 'more than two ports follow the address');
  if (rest.length === 1)
    return fault(
      'container part missing',
      'after an address write machine port and container port, like [::1]:8080:80',
    );
  return { ip, rest };
}

function dotted(text: string): Address {
  const parts = text.split(':');
  if (parts.length <= 2) return { ip: null, rest: parts };
  const [ip = '', ...rest] = parts;
  if (parts.length > 3)
    return isIpv6(parts.slice(0, -2).join(':'))
      ? fault('address', 'an IPv6 address is written in brackets, like [::1]:8080:80')
      : fault('address', `${JSON.stringify(parts.slice(0, -2).join(':'))} is not an address`);
  if (isIpv4(ip)) return { ip, rest };
  if (/^[0-9.]+$/.test(ip) && ip.split('.').some((part) => /^0\d/.test(part)))
    return fault(
      'address, leading zero',
      `a part of ${JSON.stringify(ip)} begins with a zero, which some readers take for octal`,
    );
  if (/^[0-9.]*$/.test(ip)) return fault('address', `${JSON.stringify(ip)} is not an IPv4 address`);
  return fault('a name, not an address', `${JSON.stringify(ip)} is not an address; write the address itself`);
}

function rangeOf(
  text: string,
  side: 'machine' | 'container',
): readonly number[] | ({ readonly kind: 'fault' } & MappingFault) {
  const ends = /^([^-]+)-([^-]+)$/.exec(text);
  const [first, last] = ends === null ? [text, text] : [ends[1] ?? '', ends[2] ?? ''];
  const from = portOf(first, side);
  if (typeof from !== 'number') return from;
  const to = portOf(last, side);
  if (typeof to !== 'number') return to;
  if (to < from) return fault('range runs backwards', `the range ${text} runs backwards`);
  return Array.from({ length: to - from + 1 }, (_, step) => from + step);
}

function portOf(text: string, side: 'machine' | 'container'): number | ({ readonly kind: 'fault' } & MappingFault) {
  const shown = JSON.stringify(text);
  if (/^[+-]/.test(text)) return fault('sign', `${shown} has a sign`);
  if (/^\d+\.\d+$/.test(text)) return fault('not whole', `${shown} is not a whole number`);
  if (/^0[xob]|^\d+e/i.test(text)) return fault('not decimal', `${shown} is not written in decimal digits`);
  if (/^\p{Nd}+$/u.test(text) && !/^[0-9]+$/.test(text))
    return fault('digits that are not 0-9', `${shown} is written in digits other than 0 to 9`);
  if (!/^[0-9]+$/.test(text)) return fault('number', `${shown} is not a port number`);
  if (text === '0')
    return side === 'machine'
      ? fault('zero as host port', 'the machine port is 0: leave it out to have a free one chosen')
      : fault('zero as container port', 'the container port is 0');
  if (text.startsWith('0')) return fault('leading zero', `${shown} begins with a zero`);
  const port = Number(text);
  return port > 65535 ? fault('number', `${shown} is more than 65535`) : port;
}

function isIpv4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
}

function isIpv6(text: string): boolean {
  const halves = text.split('::');
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')));
  const tail = groups.at(-1) ?? '';
  const plain = tail.includes('.') ? groups.slice(0, -1) : groups;
  if (tail.includes('.') && !isIpv4(tail)) return false;
  const count = plain.length + (tail.includes('.') ? 2 : 0);
  return plain.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group)) && (halves.length === 2 ? count <= 7 : count === 8);
}

/** Machine ports that two of these mappings take at once: on the same protocol, and on one address or on all. */
export function mappingClashes(mappings: readonly Mapping[]): readonly string[] {
  const byPort = new Map<string, Mapping[]>();
  const clashes = new Set<string>();
  for (const mapping of mappings) {
    if (mapping.host === null) continue;
    const port = `${mapping.host}/${mapping.proto}`;
    const others = byPort.get(port) ?? [];
    if (others.some((other) => meet(other.ip, mapping.ip))) clashes.add(port);
    byPort.set(port, [...others, mapping]);
  }
  return [...clashes];
}

const everywhere = new Set<string | null>([null, '0.0.0.0', '::']);
const meet = (a: string | null, b: string | null): boolean => a === b || everywhere.has(a) || everywhere.has(b);
