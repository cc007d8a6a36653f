/** Every point of every step of the acts at which a controller is killed (A1.2). A run that passes another fails the table. */

/** Before the step, before and after each thing it does to the world, and after the step, when its act does not know yet. */
function step(name: string, effects: readonly string[]): readonly string[] {
  return [
    `${name}/before`,
    ...effects.flatMap((effect) => [`${name}/${effect}/before`, `${name}/${effect}/after`]),
    `${name}/after`,
  ];
}

const sends = ['declarations.numbered', 'bus.publish', 'bus.announceChanged', 'declarations.recordSent'];

/** A1 until nothing can be taken back. */
export const untilCommitPoints = [
  ...step('prepareRotation', ['credentials.lock']),
  ...step('commitRotation', ['credentials.commit']),
];

/** A1 with an overlap. */
export const rotationPoints = [
  ...untilCommitPoints,
  ...step('tellProviders', sends),
  ...step('tellConsumers', ['credentials.handOver', ...sends, 'acts.note']),
  ...step('awaitUse', ['acts.note']),
  ...step('withdrawOld', ['credentials.withdrawLeaving', ...sends, 'acts.note']),
  ...step('closeRotation', ['acts.end']),
];

/** A1 without: both ends are told in one step. */
export const abruptPoints = [
  ...step('commitRotation', ['credentials.commit']),
  ...step('tellProviders', [...sends, 'acts.note']),
  ...step('closeRotation', ['acts.end']),
];

/** A1 when it is cancelled before its commit. */
export const undoingPoints = step('settleRotation', ['acts.begin', 'acts.settle']);

/** A7, with a secret to make. */
export const pushPoints = [
  ...step('preparePush', ['acts.begin']),
  ...step('sendDeclarations', ['credentials.keep', ...sends, 'acts.note']),
  ...step('awaitNodes', ['acts.note', 'acts.end']),
];

/** A7 when there is nothing to do. */
export const idlePushPoints = step('preparePush', ['acts.pass']);

/** A8, and the desk that joining nodes speak to. */
export const enrolPoints = [
  ...step('openToken', [
    'acts.begin',
    'busCredentials.prepare',
    'bus.push',
    'busCredentials.record',
    'enrolments.openToken',
  ]),
  'desk/enrol/before',
  'desk/enrol/after',
  'desk/prove/before',
  'desk/prove/after',
  'desk/tell/after',
  'desk/admit/after',
  ...step('admitNode', ['busCredentials.prepare', 'bus.push', 'busCredentials.record', 'enrolments.admit']),
  ...step('awaitFirstReport', ['acts.note']),
  ...step('closeToken', ['bus.revoke', 'busCredentials.revoke', 'enrolments.closeToken', 'acts.end']),
];

/** Of a node, not of an act: what it said is recorded, and not yet acknowledged. */
export const reportPoints = ['reports/record/before', 'reports/record/after'];

/** What only looks, or makes something that nobody has yet. */
const looks = new Set([
  'acts.read',
  'bus.held',
  'bus.last',
  'bus.prepare',
  'busCredentials.liveOf',
  'credentials.bound',
  'credentials.ends',
  'declarations.arrivals',
  'declarations.reportsOf',
  'declarations.sealingKeys',
  'declarations.snapshot',
  'enrolments.provenClient',
  'enrolments.provenIdentity',
  'enrolments.tokenUser',
]);

/** Whether dying there could leave something half done. */
export function changesTheWorld(point: string): boolean {
  const [, does] = point.split('/');
  return does === undefined || !looks.has(does);
}
