// Books an entry every 200 ms. The login stays, the password in the file changes: what cannot be booked in between waits,
// under an id of its own, so that it is booked once however often it is tried.
import { randomUUID } from 'node:crypto';
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';

// An application brings its own driver; this single file borrows the one of the program `mesh`, which is on its PATH.
const mesh = process.env.PATH.split(':')
  .map((folder) => path.join(folder, 'mesh'))
  .find((file) => statSync(file, { throwIfNoEntry: false }) !== undefined);
if (mesh === undefined) throw new Error('the program mesh is not on the PATH; run this as a process of a node');
const { Client } = createRequire(realpathSync(mesh))('pg');

const { DATABASE_PASSWORD_FILE, DATABASE_FACTS, MESH_ADDRESS, PORT_HTTP } = process.env;
const bookEveryMs = 200;

/** Entries that are not known to be booked. */
const waiting = [];
let booked = 0;
let lastBookedMs;
let longestPauseMs = 0;
let login = null;
let trouble = 'not connected yet';
let connection;

/** Changes whenever the mesh replaces the file. */
const fileMark = () => {
  const file = statSync(DATABASE_PASSWORD_FILE, { bigint: true });
  return file.ino + ' ' + file.mtimeNs;
};

/**
 * A connection made with the file as it is now: the next one is made when the file changed, between two entries. Where the
 * provider does not take the new password yet, the connection that is open is good until it does.
 */
async function connected() {
  const mark = fileMark();
  if (connection?.isOpen === true && connection.mark === mark) return connection;
  try {
    return await connect(mark);
  } catch (error) {
    if (connection?.isOpen === true) return connection;
    throw error;
  }
}

async function connect(mark) {
  const facts = JSON.parse(readFileSync(DATABASE_FACTS, 'utf8'));
  const client = new Client({
    host: facts.host,
    port: facts.port,
    database: facts.database,
    user: facts.login,
    password: readFileSync(DATABASE_PASSWORD_FILE, 'utf8'),
    connectionTimeoutMillis: 3_000,
  });
  const made = { client, mark, isOpen: true };
  const over = () => {
    made.isOpen = false;
  };
  client.on('error', over);
  client.on('end', over);
  try {
    await client.connect();
    await client.query(
      'create table if not exists entries (id uuid primary key, cents int not null, at timestamptz not null)',
    );
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
  await connection?.client.end().catch(() => {});
  connection = made;
  login = facts.login;
  say('connected', { login });
  return made;
}

async function book() {
  const { client } = await connected();
  while (waiting.length > 0) {
    const [entry] = waiting;
    await client.query('insert into entries values ($1, $2, $3) on conflict (id) do nothing', [
      entry.id,
      entry.cents,
      entry.at,
    ]);
    waiting.shift();
    booked += 1;
    const nowMs = performance.now();
    longestPauseMs = Math.max(longestPauseMs, nowMs - (lastBookedMs ?? nowMs));
    lastBookedMs = nowMs;
  }
  trouble = '';
}

/** One line of JSON on stdout. Names and codes only. */
function say(text, fields) {
  process.stdout.write(JSON.stringify({ at: new Date().toISOString(), text, ...fields }) + '\n');
}

const server = createServer((request, response) => {
  const isHealth = request.method === 'GET' && new URL(request.url, 'http://ledger').pathname === '/healthz';
  const answer = isHealth
    ? {
        database: trouble === '' ? 'ok' : trouble,
        login,
        booked,
        waiting: waiting.length,
        longestPauseMs: Math.round(longestPauseMs),
      }
    : { error: 'there is nothing here' };
  const status = isHealth ? (trouble === '' ? 200 : 503) : 404;
  response
    .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(JSON.stringify(answer) + '\n');
});
server.listen(Number(PORT_HTTP), MESH_ADDRESS, () =>
  say('listening', { address: MESH_ADDRESS, port: Number(PORT_HTTP) }),
);

let isOver = false;
process.once('SIGTERM', () => {
  isOver = true;
});
while (!isOver) {
  waiting.push({ id: randomUUID(), cents: 1 + Math.floor(Math.random() * 10_000), at: new Date().toISOString() });
  try {
    await book();
  } catch (error) {
    const text = 'the database is not to be had: ' + (error.code ?? error.message);
    if (text !== trouble) say(text, {});
    trouble = text;
  }
  await new Promise((resolve) => setTimeout(resolve, bookEveryMs));
}
server.close();
server.closeIdleConnections();
await connection?.client.end().catch(() => {});
say('ended', { booked, waiting: waiting.length });
process.exit(0);
