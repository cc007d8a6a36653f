/** How the nodes of a bench write files, the product's and the floor's alike: each whole (temporary, fsync, rename). */
import { open, rename } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';

export async function writeWhole(file: string, content: string): Promise<void> {
  const temporary = `${file}.${Math.random()}`;
  const handle = await open(temporary, 'w', 0o600);
  await handle.writeFile(content);
  await handle.sync();
  await handle.close();
  await rename(temporary, file);
}

export const fileOfNode = z.object({ path: z.string(), content: z.string() });
export type FileOfNode = z.infer<typeof fileOfNode>;
/** Writes those of a node's files that are not as they were written last. */
export type ApplyFiles = (node: string, files: readonly FileOfNode[]) => Promise<void>;

/** Over one folder, in which each node has files of its own. */
export function applyFilesIn(folder: string): ApplyFiles {
  const written = new Map<string, string>();
  return async (node, files) => {
    await Promise.all(
      files.map(async ({ path: name, content }) => {
        const file = path.join(folder, `${node}${name.replaceAll('/', '-')}`);
        if (written.get(file) === content) return;
        written.set(file, content);
        await writeWhole(file, content);
      }),
    );
  };
}
