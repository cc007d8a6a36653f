/** Writes every short form of a manifest out and fills every default in. Decides nothing: that is `check.ts`. */
import {
  localName,
  partName,
  provisionName,
  type LocalName,
  type PartName,
  type ProvisionName,
} from '../words/names.ts';
import { given } from '../words/given.ts';
import type { Listens, Manifest, ManifestResource, Provides, SecretDelivery } from './manifest.ts';
import type { WrittenManifest, WrittenResource } from './written.ts';

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

/** `250ms`, `5s`, `1m`, `2h` in milliseconds. */
function milliseconds(text: string): number {
  const [, count = '0', unit = 'ms'] = /^(\d+)(ms|s|m|h)$/.exec(text) ?? [];
  return Number(count) * (unit === 'h' ? unitMs.h : unit === 'm' ? unitMs.m : unit === 's' ? unitMs.s : unitMs.ms);
}

/** Both spellings of the container runtime's socket are one thing (M10). */
const runtimeSocket = (path: string): string => (path === '/run/docker.sock' ? '/var/run/docker.sock' : path);

export function normalise(written: WrittenManifest): Manifest {
  return {
    module: written.module,
    version: written.version,
    ...given('describes', written.describes),
    requires: written.requires ?? [],
    provides: (written.provides ?? []).map(provides),
    listens: Object.entries(written.listens ?? {}).map(listens),
    secrets: Object.entries(written.secrets ?? {}).flatMap(deliveries),
    filled: [],
    binds: Object.entries(written.binds ?? {}).map(([name, to]) => ({
      requirement: provisionName.parse(name),
      ...landing(to),
    })),
    holds: Object.entries(written.holds ?? {}).map(([name, to]) => ({ name: partName.parse(name), ...landing(to) })),
    routes: written.routes ?? [],
    contributes: written.contributes ?? [],
    answers: written.answers ?? [],
    claims: written.claims ?? [],
    seats: written.seats ?? [],
    ...given('keeps', written.keeps),
    ...given('computed', written.computed),
    settings: Object.entries(written.settings ?? {}).map(([name, setting]) => ({
      name: partName.parse(name),
      ...setting,
    })),
    capabilities: written.capabilities ?? [],
    ...(written.health === undefined
      ? {}
      : {
          health: {
            http: written.health.http,
            listens: written.health.listens,
            intervalMs: milliseconds(written.health.interval ?? '5s'),
            graceMs: milliseconds(written.health.grace ?? '30s'),
          },
        }),
    builds: Object.entries(written.builds ?? {}).map(([artifact, { recipe, bases }]) => ({
      artifact: partName.parse(artifact),
      recipe,
      bases: Object.entries(bases ?? {}).map(([name, base]) => ({ name: partName.parse(name), ...base })),
    })),
    resources: (written.resources ?? []).map((item) => resource(item, new Set(Object.keys(written.listens ?? {})))),
  };
}

/** M1: the short form is of node scope. */
function provides(written: NonNullable<WrittenManifest['provides']>[number]): Provides {
  if (typeof written === 'string') return { name: written, scope: 'node', drainMs: milliseconds('30s') };
  const { drain, ...rest } = written;
  return { ...rest, drainMs: milliseconds(drain ?? '30s') };
}

/** M19: a DNS server is asked on both protocols, so port 53 is both unless one is named. */
function listens([name, written]: [string, NonNullable<WrittenManifest['listens']>[PartName]]): Listens {
  const { port, protocol, fixed } =
    typeof written === 'number' ? { port: written, protocol: undefined, fixed: undefined } : written;
  return {
    name: partName.parse(name),
    port,
    protocol: protocol ?? (port === 53 ? 'both' : 'tcp'),
    fixed: fixed ?? false,
  };
}

type WrittenSecret = NonNullable<WrittenManifest['secrets']>[ProvisionName];

function deliveries([name, written]: [string, WrittenSecret]): readonly SecretDelivery[] {
  const requirement = provisionName.parse(name);
  if (typeof written === 'string') return [{ requirement, file: written, as: 'password' }];
  if (isPlain(written))
    return [{ requirement, file: written.file, as: written.as ?? 'password', ...given('owner', written.owner) }];
  return Object.entries(written).map(([local, to]) => ({
    requirement,
    local: localName.parse(local),
    file: to.file,
    as: to.as ?? 'password',
    ...given('owner', to.owner),
  }));
}

type Delivery = { file: string; as?: SecretDelivery['as'] | undefined; owner?: string | undefined };
/** A local may be called `file`: it is the plain form only when a path stands there. */
const isPlain = (written: Delivery | Record<LocalName, Delivery>): written is Delivery =>
  'file' in written && typeof written.file === 'string';

function landing(written: string | { file: string; owner?: string | undefined }): { file: string; owner?: string } {
  return typeof written === 'string' ? { file: written } : { file: written.file, ...given('owner', written.owner) };
}

function resource(item: WrittenResource, ports: ReadonlySet<string>): ManifestResource {
  switch (item.kind) {
    case 'directory':
      return { ...item, mode: item.mode ?? '0755' };
    case 'file':
      return { ...item, format: item.format ?? 'raw' };
    case 'archive':
    case 'network':
      return item;
    case 'process': {
      const { 'restart-on': restartOn, stop, env, ...rest } = item;
      return {
        ...rest,
        env: env ?? {},
        restartOn: restartOn ?? [],
        stop: { signal: stop?.signal ?? 'SIGTERM', waitMs: milliseconds(stop?.wait ?? '10s') },
      };
    }
    case 'container': {
      const { 'restart-on': restartOn, 'env-files': envFiles, env, image, publish, mounts, networks, ...rest } = item;
      return {
        ...rest,
        image: typeof image === 'string' ? { reference: image } : image,
        env: env ?? {},
        envFiles: envFiles ?? [],
        publish: (publish ?? []).map((one) => publication(one, ports)),
        mounts: (mounts ?? []).map((mount) => ({
          from: runtimeSocket(mount.from),
          to: mount.to,
          readOnly: mount['read-only'] ?? false,
        })),
        networks: networks ?? [],
        restartOn: restartOn ?? [],
      };
    }
  }
}

/** The name of one of the module's ports, or else a mapping that is left as it is (M20). */
function publication(
  written: string | number,
  ports: ReadonlySet<string>,
): Extract<ManifestResource, { kind: 'container' }>['publish'][number] {
  return typeof written === 'string' && ports.has(written)
    ? { listens: partName.parse(written) }
    : { mapping: written };
}
