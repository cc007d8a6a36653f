// Runs Caddy, and says to it in its own words what stands in the file of routes that the mesh fills in. Caddy watches the
// file that this program writes (--watch): it takes a new one up whole, open connections go on, and one that makes no sense
// leaves the old one in use.
import { spawn } from 'node:child_process';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const [routesFile, caddyFile] = process.argv.slice(2);
const { MESH_ADDRESS, PORT_WEB } = process.env;
const lookEveryMs = 200;

const answer = (status, body) => ({ handler: 'static_response', status_code: status, body });

function configOf({ routes }) {
  return {
    admin: { disabled: true },
    apps: {
      http: {
        servers: {
          web: {
            listen: [`${MESH_ADDRESS}:${PORT_WEB}`],
            // What the public speaks to it is the operator's to choose; here it is plain HTTP.
            automatic_https: { disable: true },
            routes: [
              ...routes.map(({ name, host, port }) => ({
                match: [{ host: [name] }],
                handle: [{ handler: 'reverse_proxy', upstreams: [{ dial: `${host}:${port}` }] }],
                terminal: true,
              })),
              { handle: [answer(404, 'no module of this mesh has that name\n')] },
            ],
          },
        },
      },
    },
  };
}

let written;
/** Writes Caddy's file whole when it would be another. */
function follow() {
  const text = `${JSON.stringify(configOf(JSON.parse(readFileSync(routesFile, 'utf8'))), undefined, 2)}\n`;
  if (text === written) return;
  writeFileSync(`${caddyFile}.next`, text);
  renameSync(`${caddyFile}.next`, caddyFile);
  written = text;
  say('routes taken up');
}

/** One line of JSON on stdout. */
function say(text) {
  process.stdout.write(`${JSON.stringify({ at: new Date().toISOString(), text })}\n`);
}

follow();
const caddy = spawn('caddy', ['run', '--config', caddyFile, '--watch'], { stdio: 'inherit' });
caddy.on('error', (error) => {
  say(`Caddy cannot be started: ${error.message}`);
  process.exit(1);
});
caddy.on('exit', (code) => process.exit(code ?? 1));
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => caddy.kill(signal));

while (true) {
  await pause(lookEveryMs);
  try {
    follow();
  } catch (error) {
    say(`the routes cannot be taken up: ${error.message}`);
  }
}
