import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { capability, type Capability } from '../../src/domain/report/report.ts';
import { findCapabilities } from '../../src/host/capabilities.ts';

let folder: string;
const servers: Server[] = [];
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'mesh-capable-'));
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
  await rm(folder, { recursive: true, force: true });
});

async function engine(status: number, body: unknown): Promise<string> {
  const socket = path.join(folder, `engine-${servers.length}.sock`);
  const server = createServer((_request, response) => {
    response.writeHead(status).end(JSON.stringify(body));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return socket;
}
async function program(name: string, script: string): Promise<void> {
  await writeFile(path.join(folder, name), `#!/bin/sh\n${script}\n`);
  await chmod(path.join(folder, name), 0o755);
}
const look = async (name: string, sockets: readonly string[] = []): Promise<Capability | undefined> =>
  (await findCapabilities({ sockets, folders: [folder] })).find((one) => one.name === name);

test('[D14] a container runtime counts when its API answers, with what it says of itself', async () => {
  const docker = await engine(200, { Version: '27.1.0', ApiVersion: '1.46', Components: [{ Name: 'Engine' }] });
  const podman = await engine(200, { Version: '5.0.0', ApiVersion: '1.41', Components: [{ Name: 'Podman Engine' }] });
  const broken = await engine(500, {});
  const absent = path.join(folder, 'none.sock');
  expect(await look('container-runtime', [absent, broken, docker])).toEqual({
    name: 'container-runtime',
    present: true,
    detail: { socket: docker, engine: 'docker', version: '27.1.0', api: '1.46' },
  });
  expect(await look('container-runtime', [podman])).toMatchObject({ detail: { engine: 'podman' } });
  expect(await look('container-runtime', [absent, broken])).toEqual({
    name: 'container-runtime',
    present: false,
    reason: `connect ENOENT ${absent}; ${broken} answered 500`,
  });
});

test('[D14] a firewall counts when its rules can be read; otherwise its own words are the reason', async () => {
  expect(await look('firewall')).toMatchObject({
    present: false,
    reason: expect.stringContaining(`no program nft in ${folder}`),
  });
  await program('nft', 'echo "Operation not permitted (you must be root)" >&2; exit 1');
  expect(await look('firewall')).toMatchObject({
    present: false,
    reason: `${folder}/nft: Operation not permitted (you must be root); no program iptables in ${folder}`,
  });
  await program('iptables', 'exit 0');
  expect(await look('firewall')).toMatchObject({ present: true, detail: { program: 'iptables' } });
});

test('[D14] architecture, memory and wireguard are told of this machine, each as a report takes it', async () => {
  const found = await findCapabilities();
  for (const one of found) expect(capability.safeParse(one).success).toBe(true);
  const of = (name: string) => found.find((one) => one.name === name);
  expect(of('architecture')).toMatchObject({
    present: true,
    detail: { machine: expect.any(String), processors: expect.stringMatching(/^[1-9]/) },
  });
  expect(of('memory')).toMatchObject({ present: true, detail: { totalMiB: expect.stringMatching(/^[1-9]/) } });
  expect(of('wireguard')).toEqual(
    of('wireguard')?.present === true
      ? { name: 'wireguard', present: true, detail: { by: expect.any(String) } }
      : { name: 'wireguard', present: false, reason: expect.stringMatching(/wireguard|tun/) },
  );
});

test('[D14] Caddy counts when its program says its version; otherwise the reason says how to have it', async () => {
  expect(await look('caddy')).toMatchObject({
    present: false,
    reason: `no program caddy in ${folder}; Debian has it as the package caddy`,
  });
  await program('caddy', 'echo "cannot run: bad image" >&2; exit 1');
  expect(await look('caddy')).toMatchObject({
    present: false,
    reason: expect.stringContaining('cannot run: bad image'),
  });
  await program('caddy', 'echo 2.6.2');
  expect(await look('caddy')).toEqual({
    name: 'caddy',
    present: true,
    detail: { path: path.join(folder, 'caddy'), version: '2.6.2' },
  });
});
