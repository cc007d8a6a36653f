import type { Listens, Manifest } from '../manifest/manifest.ts';
import { parseMapping } from '../manifest/mapping.ts';
import { partName } from '../words/names.ts';

/**
 * What a module takes of its machine: what it listens on, and the machine's side of every mapping that was written the long way,
 * which is taken as it stands (M20). A mapping without a machine's side takes nothing that could be known beforehand.
 */
export function wantedPorts({ listens, resources }: Manifest): readonly Listens[] {
  const taken = new Set(
    listens.flatMap(({ port, protocol, fixed }) =>
      fixed ? (protocol === 'both' ? [`tcp ${port}`, `udp ${port}`] : [`${protocol} ${port}`]) : [],
    ),
  );
  const mapped = resources
    .flatMap((item) => (item.kind === 'container' ? item.publish : []))
    .flatMap((one) => ('mapping' in one ? [parseMapping(one.mapping)] : []))
    .flatMap((parsed) => (parsed.kind === 'mapping' ? parsed.ports : []))
    .flatMap(({ host, proto }): readonly Listens[] => {
      if (host === null || taken.has(`${proto} ${host}`)) return [];
      taken.add(`${proto} ${host}`);
      return [{ name: partName.parse(`mapped-${host}`), port: host, protocol: proto, fixed: true }];
    });
  return [...listens, ...mapped];
}
