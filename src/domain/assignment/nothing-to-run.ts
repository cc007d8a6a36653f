import type { Manifest } from '../manifest/manifest.ts';
import type { Refusal } from '../refusal/refusal.ts';

/** M12: a module that builds an artifact and places nothing has nothing to assign; one whose resources the mesh computes has. */
export function nothingToRun(manifest: Manifest): Refusal | undefined {
  if (manifest.builds.length === 0 || manifest.resources.length > 0 || manifest.computed !== undefined)
    return undefined;
  return {
    kind: 'nothing-to-run',
    what: `${manifest.module} builds ${manifest.builds.map((one) => one.artifact).join(', ')} and places nothing on a node`,
    why: 'assigning it would change nothing: what it builds is used by other modules',
    next: [`mesh build ${manifest.module}`, 'mesh assign <node> <a module that uses it>'],
    facts: { module: manifest.module, artifacts: manifest.builds.map((one) => one.artifact) },
  };
}
