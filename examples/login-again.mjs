// Logs in to a consumer's database again and again with what its files hold at that moment, and keeps what came of each
// try: {"at","login","sqlstate"}; sqlstate is null when the login worked. Never prints a password.
//
//   node login-again.mjs --url FILE [--pause MS]
//   node login-again.mjs --credential FILE --facts FILE [--pause MS]
//
// The first is a file with the whole address; the second the files of the `json` or `password` form and of the facts.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import pg from 'pg';

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    credential: { type: 'string' },
    facts: { type: 'string' },
    pause: { type: 'string', default: '5' },
  },
});
let going = true;
process.on('SIGTERM', () => {
  going = false;
});

/** Read anew before every login, as a program would that starts just now. */
function credential() {
  if (values.url !== undefined) {
    const { username, password, hostname, port, pathname } = new URL(readFileSync(values.url, 'utf8'));
    const [user, secret, database] = [username, password, pathname.slice(1)].map(decodeURIComponent);
    return { host: hostname, port: Number(port), database, user, password: secret };
  }
  const facts = JSON.parse(readFileSync(values.facts, 'utf8'));
  const text = readFileSync(values.credential, 'utf8');
  const { login, password } = text.startsWith('{') ? JSON.parse(text) : { login: facts.login, password: text };
  return { host: facts.host, port: facts.port, database: facts.database, user: login, password };
}

while (going) {
  const at = new Date().toISOString();
  let login = null;
  let sqlstate = null;
  try {
    const config = credential();
    login = config.user;
    const client = new pg.Client({ ...config, connectionTimeoutMillis: 5000 });
    client.on('error', () => {});
    await client.connect();
    await client.query('select 1');
    await client.end();
  } catch (error) {
    // A code alone: the text of an error may hold what it was made of.
    sqlstate = error.code ?? 'unknown';
  }
  process.stdout.write(`${JSON.stringify({ at, login, sqlstate })}\n`);
  await new Promise((resolve) => setTimeout(resolve, Number(values.pause)));
}
