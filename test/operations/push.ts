/** What a push does with a node, as far as the records go: it is sent what it should be, and answers, or not yet. */
import { declarationRecords } from '../../src/operations/act/declaration-records.ts';
import { planNodes } from '../../src/operations/plan/plan-nodes.ts';
import { recordReport } from '../../src/operations/report/record-report.ts';
import { accepted, aReport, hash, node, type World } from './world.ts';

/** `in part`: it speaks of what it was sent, and one resource is not as declared yet. */
export type Answers = 'answers' | 'answers in part' | 'stays silent';

let boot = 1;

/** Sends a node what it should be, and has it answer. */
export async function push(world: World, name: string, answers: Answers = 'answers'): Promise<void> {
  const [plan] = accepted(await planNodes(world.store, hash, [node(name)])).nodes;
  if (plan?.kind !== 'resolvable') throw new Error(`${name} cannot be resolved`);
  const declarations = declarationRecords(world.store);
  const { number } = await declarations.numbered();
  const { added, changed, removed } = plan.difference;
  const resources = new Map(await lastResources(world, name));
  for (const id of [...added, ...changed]) resources.set(id, `sha256:${id}`);
  for (const id of removed) resources.delete(id);
  await declarations.recordSent({ node: node(name), digest: plan.digest, number, streamSequence: number, resources });
  await answer(world, name, answers);
}

/** The node speaks of what it was last sent. */
export async function answer(world: World, name: string, answers: Answers): Promise<void> {
  const { store } = world;
  const [sent] = await store.read((view) => view.sentRows([node(name)]));
  if (answers === 'stays silent' || sent === undefined) return;
  boot += 1;
  const declared = Math.max((await lastResources(world, name)).size, 1);
  const isWhole = answers === 'answers';
  const report = aReport(name, {
    boot,
    outcome: isWhole ? 'applied' : 'failed',
    digest: sent.digest,
    number: sent.number,
    declared,
    applied: isWhole ? declared : declared - 1,
    failures: isWhole ? [] : [{ resource: 'a/process/a', error: 'still stopping' }],
  });
  await recordReport(store, report, Date.now());
}

async function lastResources({ store }: World, name: string): Promise<ReadonlyMap<string, string>> {
  return (await store.read((view) => view.sentResources([node(name)]))).get(node(name)) ?? new Map<string, string>();
}
