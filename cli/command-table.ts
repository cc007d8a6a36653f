/**
 * Every command there is, in the order that help lists them. A verb that is not built is not here. The build writes this table
 * down for the command to start from (`built-commands.ts`); nothing that starts imports it.
 */
import { acts } from './commands/acts.ts';
import { actCancel } from './commands/act/cancel.ts';
import { actShow } from './commands/act/show.ts';
import { assign } from './commands/assign.ts';
import { complete } from './commands/complete.ts';
import { completion } from './commands/completion.ts';
import { configShow } from './commands/config/show.ts';
import { doctor } from './commands/doctor.ts';
import { events } from './commands/events.ts';
import { host } from './commands/host.ts';
import { moduleAdd } from './commands/module/add.ts';
import { moduleCheck } from './commands/module/check.ts';
import { moduleForget } from './commands/module/forget.ts';
import { moduleList } from './commands/module/list.ts';
import { moduleSchema } from './commands/module/schema.ts';
import { moduleShow } from './commands/module/show.ts';
import { nodeInvite } from './commands/node/invite.ts';
import { nodeJoin } from './commands/node/join.ts';
import { nodeList } from './commands/node/list.ts';
import { nodeRemove } from './commands/node/remove.ts';
import { nodeSet } from './commands/node/set.ts';
import { nodeShow } from './commands/node/show.ts';
import { ask } from './commands/ask.ts';
import { pin } from './commands/pin.ts';
import { plan } from './commands/plan.ts';
import { provisionerApplied } from './commands/provisioner/applied.ts';
import { provisionerCollect } from './commands/provisioner/collect.ts';
import { provisionerCompile } from './commands/provisioner/compile.ts';
import { provisionerHealth } from './commands/provisioner/health.ts';
import { provisionerNeeds } from './commands/provisioner/needs.ts';
import { provisionerRegistry } from './commands/provisioner/registry.ts';
import { providePostgresCommand } from './commands/provide/postgres.ts';
import { push } from './commands/push.ts';
import { secretAccept } from './commands/secret/accept.ts';
import { secretList } from './commands/secret/list.ts';
import { secretRotate } from './commands/secret/rotate.ts';
import { servePostgresCommand } from './commands/serve/postgres.ts';
import { set } from './commands/set.ts';
import { settings } from './commands/settings.ts';
import { status } from './commands/status.ts';
import { demo } from './commands/demo.ts';
import { down } from './commands/down.ts';
import { up } from './commands/up.ts';
import { unassign } from './commands/unassign.ts';
import { unpin } from './commands/unpin.ts';
import { why } from './commands/why.ts';
import { workController } from './commands/work/controller.ts';
import { workProvisioner } from './commands/work/provisioner.ts';
import type { CommandDefinition } from './definition.ts';

export const commandTable: readonly CommandDefinition[] = [
  up,
  down,
  demo,
  nodeInvite,
  nodeJoin,
  nodeList,
  nodeShow,
  nodeSet,
  nodeRemove,
  moduleAdd,
  moduleList,
  moduleShow,
  moduleCheck,
  moduleForget,
  moduleSchema,
  assign,
  unassign,
  pin,
  unpin,
  set,
  settings,
  plan,
  push,
  status,
  why,
  events,
  ask,
  provisionerRegistry,
  provisionerNeeds,
  provisionerApplied,
  provisionerCollect,
  provisionerHealth,
  provisionerCompile,
  acts,
  actShow,
  actCancel,
  secretList,
  secretRotate,
  secretAccept,
  configShow,
  doctor,
  completion,
  workController,
  workProvisioner,
  host,
  providePostgresCommand,
  servePostgresCommand,
  complete,
];
