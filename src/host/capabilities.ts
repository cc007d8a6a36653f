/**
 * What this machine can do (D14): each capability with its detail, or absent with the reason in the machine's own words.
 * Looking changes nothing, and is the host's own idea: no message makes it look for anything else (D25).
 */
import { execFile } from 'node:child_process';
import { access, constants, readFile } from 'node:fs/promises';
import { request } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { Capability } from '../domain/report/report.ts';
import { errorChain } from './fault.ts';
import { presentAccount } from './accounts.ts';

const run = promisify(execFile);
const withinMs = 3_000;

/** Where the machine's programs lie; the host's own environment is not asked. */
const programFolders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Where Docker and Podman listen, for root and for the host's own user. */
export function usualSockets(uid: number): readonly string[] {
  return [
    '/run/docker.sock',
    '/var/run/docker.sock',
    '/run/podman/podman.sock',
    `/run/user/${uid}/docker.sock`,
    `/run/user/${uid}/podman/podman.sock`,
  ];
}

export type Looking = { readonly sockets: readonly string[]; readonly folders: readonly string[] };

/** Looks at everything, side by side. Never rejects: what cannot be looked at is absent, with that as its reason. */
export async function findCapabilities(where: Partial<Looking> = {}): Promise<readonly Capability[]> {
  const looking = {
    sockets: where.sockets ?? usualSockets(presentAccount().uid),
    folders: where.folders ?? programFolders,
  };
  return Promise.all([
    found('architecture', architecture),
    found('caddy', () => caddy(looking.folders)),
    found('container-runtime', () => containerRuntime(looking.sockets)),
    found('firewall', () => firewall(looking.folders)),
    found('memory', memory),
    found('wireguard', () => wireguard(looking.folders)),
  ]);
}

type Detail = Record<string, string>;

async function found(name: string, look: () => Promise<Detail> | Detail): Promise<Capability> {
  try {
    return { name, present: true, detail: await look() };
  } catch (error) {
    return { name, present: false, reason: errorChain(error).trim() };
  }
}

function architecture(): Detail {
  return { machine: os.machine(), processors: String(os.availableParallelism()) };
}

function memory(): Detail {
  return { totalMiB: String(Math.floor(os.totalmem() / 1024 / 1024)) };
}

async function containerRuntime(sockets: readonly string[]): Promise<Detail> {
  const reasons: string[] = [];
  for (const socket of sockets) {
    try {
      return { socket, ...(await askEngine(socket)) };
    } catch (error) {
      reasons.push(errorChain(error));
    }
  }
  throw new Error(reasons.join('; '));
}

const engineVersion = z.object({
  Version: z.string(),
  ApiVersion: z.string(),
  Components: z.array(z.object({ Name: z.string() })).optional(),
});

async function askEngine(socketPath: string): Promise<Detail> {
  const said = engineVersion.parse(JSON.parse(await getJson(socketPath, '/version')));
  const isPodman = said.Components?.some(({ Name }) => Name.startsWith('Podman')) === true;
  return { engine: isPodman ? 'podman' : 'docker', version: said.Version, api: said.ApiVersion };
}

function getJson(socketPath: string, at: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path: at, timeout: withinMs }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => (text += piece));
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`${socketPath} answered ${response.statusCode ?? 'nothing'}`));
      });
    });
    asked.on('timeout', () => asked.destroy(new Error(`${socketPath} did not answer within ${withinMs} ms`)));
    asked.on('error', reject);
    asked.end();
  });
}

/** A firewall counts only if its rules can be read: a program alone opens no port. */
async function firewall(folders: readonly string[]): Promise<Detail> {
  const reasons: string[] = [];
  for (const [name, args] of [
    ['nft', ['list', 'tables']],
    ['iptables', ['-w', '-S']],
  ] as const) {
    const program = await programIn(folders, name);
    if (program === undefined) {
      reasons.push(`no program ${name} in ${folders.join(', ')}`);
      continue;
    }
    try {
      await run(program, [...args], { timeout: withinMs, env: {} });
      return { program: name, path: program };
    } catch (error) {
      reasons.push(`${program}: ${ownWords(error)}`);
    }
  }
  throw new Error(reasons.join('; '));
}

const failedProgram = z.object({ stderr: z.string().min(1) });
function ownWords(error: unknown): string {
  const said = failedProgram.safeParse(error);
  return said.success ? said.data.stderr.trim() : errorChain(error);
}

/** A web server that other modules' names are reached by; the module that runs it brings no program of its own. */
async function caddy(folders: readonly string[]): Promise<Detail> {
  const program = await programIn(folders, 'caddy');
  if (program === undefined)
    throw new Error(`no program caddy in ${folders.join(', ')}; Debian has it as the package caddy`);
  try {
    const { stdout } = await run(program, ['version'], { timeout: withinMs, env: {} });
    return { path: program, version: stdout.trim().split(/\s/)[0] ?? '' };
  } catch (error) {
    throw new Error(`${program}: ${ownWords(error)}`);
  }
}

/** In the kernel (loaded, built in, or there to be loaded), or as a program beside a tunnel device. */
async function wireguard(folders: readonly string[]): Promise<Detail> {
  if (await isReadable('/sys/module/wireguard')) return { by: 'kernel' };
  const modules = path.join('/lib/modules', os.release());
  for (const list of ['modules.builtin', 'modules.dep']) {
    const text = await readFile(path.join(modules, list), 'utf8').catch(() => '');
    if (/\/wireguard\.ko/.test(text)) return { by: 'kernel' };
  }
  const program = await programIn(folders, 'wireguard-go');
  if (program === undefined) {
    throw new Error(
      `the kernel ${os.release()} has no module wireguard, and there is no program wireguard-go in ${folders.join(', ')}`,
    );
  }
  await access('/dev/net/tun', constants.R_OK | constants.W_OK);
  return { by: program };
}

async function programIn(folders: readonly string[], name: string): Promise<string | undefined> {
  for (const folder of folders) {
    const file = path.join(folder, name);
    if (await isReadable(file, constants.X_OK)) return file;
  }
  return undefined;
}

function isReadable(file: string, mode = constants.F_OK): Promise<boolean> {
  return access(file, mode).then(
    () => true,
    () => false,
  );
}
