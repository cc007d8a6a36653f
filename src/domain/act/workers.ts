import { controllerQueue } from './act.ts';
import { provisionerQueue } from './registry.ts';

/** A process that works on a task queue, and the command that starts one. */
export type MeshWorker = {
  readonly role: 'controller' | 'provisioner';
  readonly queue: string;
  readonly start: `mesh work ${string}`;
};

/** The controller, whose acts wait for it (A15). */
export const controllerWorker: MeshWorker = {
  role: 'controller',
  queue: controllerQueue,
  start: 'mesh work controller',
};
/** The provisioner, whose queue has the compilation of the registry alone (A5). */
export const provisionerWorker: MeshWorker = {
  role: 'provisioner',
  queue: provisionerQueue,
  start: 'mesh work provisioner',
};

/** Every task queue that the mesh waits on, by who works on it: what names a missing worker, and what `doctor` looks at. */
export const meshWorkers: readonly MeshWorker[] = [controllerWorker, provisionerWorker];
