import { controllerQueue } from './act.ts';
import { provisionerQueue } from './registry.ts';

/** A process that works on a task queue, and the command that starts one. */
export type MeshWorker = {
  readonly role: 'controller' | 'provisioner';
  readonly queue: string;
  readonly start: `mesh work ${string}`;
  /** Whose word it needs to go on working: without it, it lets its queue go and waits. */
  readonly needs?: MeshWorker['role'];
};

/** The controller, whose acts wait for it (A15). */
export const controllerWorker: MeshWorker = {
  role: 'controller',
  queue: controllerQueue,
  start: 'mesh work controller',
};
/** The provisioner, whose queue has the compilation of the registry alone (A5); the controller says whether it holds its seat (P3). */
export const provisionerWorker: MeshWorker = {
  role: 'provisioner',
  queue: provisionerQueue,
  start: 'mesh work provisioner',
  needs: 'controller',
};

/** Every task queue that the mesh waits on, by who works on it: what names a missing worker, and what `doctor` looks at. */
export const meshWorkers: readonly MeshWorker[] = [controllerWorker, provisionerWorker];
