import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Declaration, Envelope } from '../../src/domain/declaration/declaration.ts';
import { nodeName } from '../../src/domain/words/names.ts';
import { openLedger } from '../../src/host/ledger.ts';
import { ProvisionerClient } from '../../src/host/provisioning/client.ts';
import { Reconciler } from '../../src/host/pass.ts';
import { composeReport, fitReport, type Pass } from '../../src/host/report.ts';
import { readAccepted, type NodeFile } from '../../src/host/state.ts';
import { verifyDeclaration, type VerifiedBy } from '../../src/host/verify.ts';
import { makeSealingKey, seal } from '../../src/sealing/box.ts';
import { signEnvelope } from '../../src/sealing/envelope.ts';
import { Plaintext } from '../../src/sealing/plaintext.ts';
import { makeDeclarationKey } from '../../src/sealing/signing.ts';
import { anvil, directory, file, makeNode, processOf, quiet, type TestNode } from './node.ts';

let node: TestNode;
beforeEach(async () => {
  node = await makeNode();
});
afterEach(() => node.remove());

const by = (over: Partial<VerifiedBy> = {}): VerifiedBy => ({
  node: anvil,
  verifyKey: node.declarationKey.publicKey,
  sealingKey: node.keys.sealing,
  capabilities: [{ name: 'firewall', present: false, reason: 'nft: Operation not permitted' }],
  accepted: undefined,
  ...over,
});
const judge = (envelope: unknown, over: Partial<VerifiedBy> = {}) => {
  const judged = verifyDeclaration(envelope, by(over));
  return judged.kind === 'refused' ? judged.refusal : judged.kind;
};

describe('what the host checks before it changes anything', () => {
  test('[D3] it trusts the key it was given, for its own node, and a number that only rises', async () => {
    const declaration = node.declare(file('/x', 'x'));
    const envelope = await node.sign(declaration, 7);
    expect(judge(envelope)).toBe('verified');
    expect(
      judge(
        await signEnvelope({ node: anvil, number: 7, text: JSON.stringify(declaration), key: makeDeclarationKey() }),
      ),
    ).toMatchObject({ kind: 'wrong-signature' });
    expect(judge({ ...envelope, number: 8 })).toMatchObject({ kind: 'wrong-signature' });
    const other = nodeName.parse('bellows');
    expect(
      judge(
        await signEnvelope({
          node: other,
          number: 7,
          text: JSON.stringify({ ...declaration, node: other }),
          key: node.declarationKey,
        }),
      ),
    ).toMatchObject({ kind: 'another-node' });
    expect(judge({ ...envelope, body: `${envelope.body} ` })).toMatchObject({ kind: 'digest-mismatch' });
    expect(judge(envelope, { accepted: { number: 8, digest: envelope.digest } })).toEqual({
      kind: 'lower-number',
      detail: 'it has the number 7, and number 8 was accepted before',
    });
    expect(judge(envelope, { accepted: { number: 7, digest: envelope.digest } })).toBe('verified');
    expect(judge(envelope, { accepted: { number: 7, digest: `sha256:${'0'.repeat(64)}` } })).toMatchObject({
      kind: 'number-used-twice',
    });
    expect(judge(envelope, { accepted: { number: 6, digest: envelope.digest } })).toBe('verified');
  });

  test("[D12] a capability that is missing is refused in the machine's own words", async () => {
    const asks = async (name: string) => judge(await node.sign({ ...node.declare(), capabilities: [name] }, 1));
    expect(await asks('firewall')).toEqual({
      kind: 'capability-missing',
      detail: 'firewall: nft: Operation not permitted',
    });
    expect(await asks('teleport')).toMatchObject({ kind: 'capability-missing' });
  });

  test('[D12] every secret must be sealed to the present key, and really open', async () => {
    const other = makeSealingKey();
    const to = async (rest: object) => judge(await node.sign(node.declare(node.secret('hush', rest)), 1));
    expect(await to({})).toBe('verified');
    expect(await to(seal(new Plaintext('hush'), other.publicKey))).toMatchObject({ kind: 'sealed-to-another-key' });
    // Sealed in name only: the fingerprint is ours, the box is not.
    expect(await to({ sealed: seal(new Plaintext('hush'), other.publicKey).sealed })).toMatchObject({
      kind: 'cannot-open',
    });
    expect(await to({ form: 'url' })).toMatchObject({
      kind: 'cannot-open',
      detail: expect.stringContaining('needs to know whose credential'),
    });
  });

  test('[D12] one place declared twice, and a path under a file, are refused', async () => {
    const shape = async (declaration: Declaration) => judge(await node.sign(declaration, 1));
    expect(await shape(node.declare(file('/x', '1'), file('/x', '2', { id: 'other' })))).toMatchObject({
      detail: '/x is declared twice',
    });
    expect(await shape(node.declare(file('/x', '1'), file('/y', '2', { id: 'notes/file//x' })))).toMatchObject({
      detail: 'notes/file//x is declared twice',
    });
    expect(await shape(node.declare(file('/x', '1'), file('/x/y', '2')))).toMatchObject({
      detail: '/x/y lies under the file /x',
    });
    expect(await shape(node.declare(processOf('a', 'x'), processOf('a', 'y', { id: 'other' })))).toMatchObject({
      detail: 'process notes/a is declared twice',
    });
    const text = JSON.stringify({ ...node.declare(), resources: [{ ...file('/x', 'x'), path: '/x/../y' }] });
    expect(judge(await signEnvelope({ node: anvil, number: 1, text, key: node.declarationKey }))).toMatchObject({
      kind: 'not-a-declaration',
    });
  });
});

describe('a pass', () => {
  const nodeFile = (): NodeFile => ({
    schema: 'mesh.host-node',
    version: 1,
    name: anvil,
    address: '127.0.0.1',
    servers: ['nats://127.0.0.1:1'],
    verifyKey: node.declarationKey.publicKey,
    userJwt: 'jwt',
  });
  const reconciler = async () => {
    const surroundings = { root: node.root, bin: '/', nodeFolder: '/' };
    const applying = {
      ledger: await openLedger(node.stateDir),
      supervisor: node.supervisor,
      sealingKey: node.keys.sealing,
      surroundings,
      client: new ProvisionerClient({
        node: nodeFile(),
        stateDir: node.stateDir,
        root: node.root,
        sealingKey: node.keys.sealing,
        say: quiet,
      }),
    };
    const made = new Reconciler({ stateDir: node.stateDir, node: nodeFile(), with: applying, say: quiet });
    await made.takeUp();
    return made;
  };
  const reportOf = (pass: Pass) => {
    const { outcome, digest, number, declared, applied, failures, refusal } = composeReport(pass, {
      node: anvil,
      boot: 1,
      sequence: 1,
      intervalMs: 1_000,
      capabilities: [],
      granters: [],
      stampedAt: '2026-01-01T00:00:00Z',
    });
    return { outcome, digest, number, declared, applied, failures, refusal };
  };
  const came = (envelope: Envelope) => ({ kind: 'came', envelope }) as const;
  const everything = async () => {
    const names = (await readdir(path.dirname(node.root), { recursive: true, withFileTypes: true })).filter((one) =>
      one.isFile(),
    );
    return Promise.all(
      names
        .toSorted((a, b) => (`${a.parentPath}/${a.name}` < `${b.parentPath}/${b.name}` ? -1 : 1))
        .map(async (one) => [one.name, await readFile(path.join(one.parentPath, one.name), 'latin1')]),
    );
  };

  test('[D12] [D16] a refused declaration leaves the node exactly as it was, and is reported with what it was about', async () => {
    const loop = await reconciler();
    expect(reportOf(await loop.pass({ kind: 'none' }, []))).toMatchObject({ outcome: 'idle', declared: 0 });
    const good = await node.sign(node.declare(file('/etc/a', 'a'), processOf('web', 'exec sleep 1000')), 3);
    expect(reportOf(await loop.pass(came(good), []))).toEqual({
      outcome: 'applied',
      digest: good.digest,
      number: 3,
      declared: 2,
      applied: 2,
      failures: [],
      refusal: undefined,
    });
    const [before, pid] = [await everything(), node.supervisor.pidOf('notes.web')];
    // All of it could be applied but for the last secret, which is sealed to somebody else.
    const bad = await node.sign(
      node.declare(
        directory('/new'),
        file('/etc/a', 'changed'),
        node.secret('hush', seal(new Plaintext('hush'), makeSealingKey().publicKey)),
      ),
      4,
    );
    expect(reportOf(await loop.pass(came(bad), []))).toMatchObject({
      outcome: 'refused',
      digest: bad.digest,
      number: 4,
      declared: 3,
      applied: 0,
      failures: [],
      refusal: { kind: 'sealed-to-another-key' },
    });
    expect(await everything()).toEqual(before);
    expect(node.supervisor.pidOf('notes.web')).toBe(pid);
    // It goes on being held up as it was.
    await rm(node.at('/etc/a'));
    expect((await loop.pass(came(bad), [])).kind).toBe('refused');
    expect(await node.read('/etc/a')).toBe('a');
    // The bus going away does not make it any less refused; the good one again is applied again.
    expect(reportOf(await loop.pass({ kind: 'away' }, []))).toMatchObject({ outcome: 'refused', number: 4 });
    expect(reportOf(await loop.pass(came(good), []))).toMatchObject({ outcome: 'applied', number: 3 });
  });

  test('[D3] a lower number is refused, also by a host that was started anew', async () => {
    const [older, newer] = [
      await node.sign(node.declare(file('/x', 'older')), 3),
      await node.sign(node.declare(file('/x', 'newer')), 4),
    ];
    await (await reconciler()).pass(came(newer), []);
    const next = await reconciler();
    expect(reportOf(await next.pass(came(older), []))).toMatchObject({
      outcome: 'refused',
      digest: older.digest,
      number: 3,
      refusal: { kind: 'lower-number' },
    });
    expect(await node.read('/x')).toBe('newer');
    expect((await readAccepted(node.stateDir))?.number).toBe(4);
  });

  test('[D15] a declaration that was accepted and not yet applied is applied by the next host, with the bus away', async () => {
    const envelope = await node.sign(node.declare(file('/x', 'x')), 1);
    const { writeAccepted } = await import('../../src/host/state.ts');
    await writeAccepted(node.stateDir, envelope);
    expect(reportOf(await (await reconciler()).pass({ kind: 'away' }, []))).toMatchObject({
      outcome: 'applied',
      number: 1,
    });
    expect(await node.read('/x')).toBe('x');
  });

  test('[D16] [D19] one failed resource makes the outcome failed, with how many of how many', async () => {
    const envelope = await node.sign(node.declare(file('/etc/a', 'a'), processOf('web', 'exit 3')), 1);
    const report = reportOf(await (await reconciler()).pass(came(envelope), []));
    expect(report).toMatchObject({ outcome: 'failed', digest: envelope.digest, declared: 2, applied: 1 });
    expect(report.failures.map(({ resource }) => resource)).toEqual(['notes/process/web']);
  });

  test('[D16] what cannot be read at all is refused without a digest', async () => {
    expect(reportOf(await (await reconciler()).pass({ kind: 'came', envelope: undefined }, []))).toMatchObject({
      outcome: 'refused',
      digest: undefined,
      number: undefined,
      declared: 0,
    });
  });

  test('[C81] a report that is too long is shortened by rule, its outcome and counts never', async () => {
    const failures = Array.from({ length: 500 }, (_, n) => ({
      resource: `notes/file//${n}`,
      error: 'x'.repeat(5_000),
    }));
    const pass: Pass = {
      kind: 'applied',
      digest: 'sha256:1',
      number: 1,
      applied: { declared: 600, applied: 100, failures, drift: Array(900).fill('y'.repeat(400)), kept: [] },
    };
    const long = composeReport(pass, {
      node: anvil,
      boot: 1,
      sequence: 1,
      intervalMs: 1,
      capabilities: [],
      granters: [],
      stampedAt: '',
    });
    const fits = fitReport(long, 128 * 1024);
    expect(Buffer.byteLength(JSON.stringify(fits))).toBeLessThanOrEqual(128 * 1024);
    expect(fits).toMatchObject({ outcome: 'failed', declared: 600, applied: 100 });
    expect(fits.failures.map(({ resource }) => resource)).toEqual(failures.map(({ resource }) => resource));
    expect(fits.drift.at(-1)).toMatch(/^and [0-9]+ more$/);
    expect(fitReport(long, 64 * 1024 * 1024)).toBe(long);
  });
});
