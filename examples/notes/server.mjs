// Notes on the web. The database's address, credential and all, is in a file that may change at any moment: the program follows it without
// a failed request, by connecting with the new one first and letting the old connections finish.
import { createHash } from 'node:crypto';
import { readFileSync, realpathSync, watch } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';

// An application brings its own driver, in an image or an archive. This one is a single file, so that there is nothing to
// build: it borrows the driver of the program `mesh`, which is on the PATH of every process of a node.
const mesh = process.env.PATH.split(':')
  .map((folder) => path.join(folder, 'mesh'))
  .find(realFile);
if (mesh === undefined) throw new Error('the program mesh is not on the PATH; run this as a process of a node');
const { Pool } = createRequire(realpathSync(mesh))('pg');

const { DATABASE_URL_FILE, NOTES_FILE, MESH_ADDRESS, PORT_HTTP } = process.env;
const lookEveryMs = 200;

function realFile(file) {
  try {
    return realpathSync(file) !== undefined;
  } catch {
    return false;
  }
}

// --- the database -------------------------------------------------------------------------------------------------

/** The pool in use, and a digest of the address it was made from: no credential is kept to compare with. */
let current = { pool: undefined, digest: '' };
let trouble = 'no database yet';

/** Connects with what the file holds now, if that is something else than what is in use. */
async function follow() {
  const address = readFileSync(DATABASE_URL_FILE, 'utf8');
  const digest = createHash('sha256').update(address).digest('hex');
  if (digest === current.digest) return;
  const login = decodeURIComponent(new URL(address).username);
  const pool = new Pool({ connectionString: address, max: 5, connectionTimeoutMillis: 10_000 });
  // An idle connection that the server ends is replaced at the next use.
  pool.on('error', () => {});
  try {
    await pool.query(`create table if not exists notes (
      id bigint generated always as identity primary key, text text not null, at timestamptz not null default now())`);
  } catch (error) {
    // The old pool, if there is one, stays in use: it may well still work.
    await pool.end();
    throw error;
  }
  const old = current.pool;
  current = { pool, digest };
  trouble = '';
  say('connected', { login });
  // Ends each connection when its query is done, and lets no new one begin.
  await old?.end();
}

let following;
function followSoon() {
  following ??= follow()
    .catch((error) => {
      const text = `the database is not to be had: ${error.code ?? error.message}`;
      if (text !== trouble) say(text, {});
      trouble = text;
    })
    .finally(() => {
      following = undefined;
    });
  return following;
}

/** What PostgreSQL says to a login that it does not let in. */
const refusedLogins = new Set(['28000', '28P01']);

/** Asks the database. Throws when there is none yet, or what it throws. */
async function query(sql, values) {
  const { pool } = current;
  if (pool === undefined) throw Object.assign(new Error(trouble), { status: 503 });
  try {
    return await pool.query(sql, values);
  } catch (error) {
    // The old credential was withdrawn while a login with it was on its way: nothing was asked over that, and the new one is in use.
    if (pool === current.pool || !refusedLogins.has(error.code)) throw error;
    return query(sql, values);
  }
}

const newest = async () => (await query('select id, text, at from notes order by id desc limit 100')).rows;

// --- the web ------------------------------------------------------------------------------------------------------

const escaped = (text) => text.replace(/[&<>"']/g, (sign) => '&#' + sign.charCodeAt(0) + ';');

/** What the operator calls it: read anew for each page, so that it needs no restart. */
const title = () => escaped(JSON.parse(readFileSync(NOTES_FILE, 'utf8')).title);

const page = (notes) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title()}</title></head>
<body><main><h1>${title()}</h1>
<form method="post" action="/notes"><label>A note <input name="text" required maxlength="500" autofocus></label> <button>Keep</button></form>
<ul>${notes.map(({ text, at }) => '<li>' + escaped(text) + ' <small>' + at.toISOString() + '</small></li>').join('\n')}</ul>
</main></body></html>
`;

async function body(request) {
  let text = '';
  for await (const part of request) {
    text += part;
    if (text.length > 10_000) throw Object.assign(new Error('a note is at most 500 characters long'), { status: 413 });
  }
  return text;
}

const routes = {
  async 'GET /'(_, response) {
    send(response, 200, 'text/html; charset=utf-8', page(await newest()));
  },
  async 'GET /notes.json'(_, response) {
    sendJson(response, 200, { notes: await newest() });
  },
  async 'POST /notes'(request, response) {
    const text = new URLSearchParams(await body(request)).get('text')?.trim() ?? '';
    if (text === '' || text.length > 500)
      throw Object.assign(new Error('a note has 1 to 500 characters'), { status: 400 });
    await query('insert into notes (text) values ($1)', [text]);
    response.writeHead(303, { location: '/' }).end();
  },
  async 'GET /healthz'(_, response) {
    try {
      const { rows } = await query(
        'select session_user as login, current_user as role, count(*)::int as notes from notes',
      );
      sendJson(response, 200, { database: 'ok', ...rows[0] });
    } catch (error) {
      sendJson(response, 503, {
        database: trouble || 'the database does not answer: ' + (error.code ?? error.message),
      });
    }
  },
};

function send(response, status, type, text) {
  const headers = {
    'content-type': type,
    'content-security-policy': "default-src 'none'; form-action 'self'",
    'cache-control': 'no-store',
  };
  response.writeHead(status, headers).end(text);
}

function sendJson(response, status, value) {
  send(response, status, 'application/json', JSON.stringify(value) + '\n');
}

const server = createServer((request, response) => {
  const route = routes[request.method + ' ' + new URL(request.url, 'http://notes').pathname];
  if (route === undefined) return sendJson(response, 404, { error: 'there is nothing here' });
  route(request, response).catch((error) => {
    say('a request failed', { url: request.url, error: error.code ?? error.message });
    const status = error.status ?? 503;
    sendJson(response, status, { error: error.status === undefined ? 'the database does not answer' : error.message });
  });
});

// --- the process --------------------------------------------------------------------------------------------------

/** One line of JSON on stdout. Names and codes only. */
function say(text, fields) {
  process.stdout.write(JSON.stringify({ at: new Date().toISOString(), text, ...fields }) + '\n');
}

// The mesh replaces files whole, so it is the folder that is watched; the timer sees what a watch misses.
try {
  watch(path.dirname(DATABASE_URL_FILE), followSoon).unref();
} catch {
  say('no watch to be had: looking at the file only', {});
}
const looking = setInterval(followSoon, lookEveryMs);
server.listen(Number(PORT_HTTP), MESH_ADDRESS, () =>
  say('listening', { address: MESH_ADDRESS, port: Number(PORT_HTTP) }),
);
await followSoon();

async function end() {
  clearInterval(looking);
  server.close();
  server.closeIdleConnections();
  await following;
  await current.pool?.end();
  process.exit(0);
}
process.once('SIGTERM', () => void end());
