/** The tour's part about routed names: a web server on gamma, which reaches notes by its name, and the registry behind it. */
import { request } from 'node:http';
import { z } from 'zod';
import type { Shell } from './shell.ts';
import { within } from './within.ts';

/** Of the names that the tour routes; reserved, so that it is nobody's. */
export const publicDomain = 'mesh.example';

export type Route = { readonly url: string; readonly status: number };

export const shownNode = z.object({
  address: z.string(),
  ports: z.array(z.object({ module: z.string(), listens: z.string(), port: z.int() })),
});

const shownCapabilities = z.object({
  capabilities: z.object({
    list: z.array(z.object({ name: z.string(), present: z.boolean(), reason: z.string().optional() })),
  }),
});
const compiled = z.object({ kinds: z.int(), written: z.int(), deleted: z.int() });

/** Puts the web server on gamma, if the machine has one; answers why not. */
export async function assignProxy(shell: Shell, say: (line: string) => void): Promise<string | undefined> {
  const { capabilities } = shownCapabilities.parse(await shell.ask(['node', 'show', 'gamma']));
  const caddy = capabilities.list.find(({ name }) => name === 'caddy');
  if (caddy?.present === true) {
    await shell.show(['assign', 'gamma', 'proxy']);
    return undefined;
  }
  const why = caddy?.reason ?? 'the node does not say whether it has Caddy';
  say(`No web server here: ${why}. notes is reached by its address alone.`);
  return why;
}

/** Asks for notes as a visitor would, by its name, of the web server that gamma runs. */
export async function askByName(shell: Shell, say: (line: string) => void): Promise<Route> {
  const { address, ports } = shownNode.parse(await shell.ask(['node', 'show', 'gamma']));
  const port = ports.find(({ module }) => module === 'proxy')?.port ?? 0;
  const name = `notes.${publicDomain}`;
  let status = 0;
  await within(20_000, `${name} to be served`, async () => {
    status = await statusOf({ address, port, name }).catch(() => 0);
    return status === 200;
  });
  const url = `http://${name}:${port}/`;
  say(`${url} is answered with ${status}, by the web server on gamma (${address}).`);
  return { url, status };
}

/** The status of a page that is asked for by name, wherever the name leads. */
function statusOf({ address, port, name }: { address: string; port: number; name: string }): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: address, port, path: '/', headers: { host: name } }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    asked.on('error', reject);
    asked.end();
  });
}

/** Compiles the registry once more and again: the second time there is nothing to write. */
export async function compileAgain(
  shell: Shell,
  say: (line: string) => void,
): Promise<{ readonly kinds: number; readonly writesSecondCompile: number }> {
  await shell.show(['provisioner', 'registry']);
  await shell.ask(['provisioner', 'compile']);
  const { kinds, written, deleted } = compiled.parse(await shell.ask(['provisioner', 'compile']));
  const writesSecondCompile = written + deleted;
  say(`${kinds} kinds of placeholder are answered; compiling the registry again wrote ${writesSecondCompile} keys.`);
  return { kinds, writesSecondCompile };
}
