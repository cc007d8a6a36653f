import { canonicalJson } from '../src/domain/declaration/canonical.ts';
import type { CatalogueModule } from '../src/domain/resolution/inventory.ts';
import { digestOf } from '../src/sealing/digest.ts';

/** One digest of manifest and files: adding the same again is seen to change nothing. */
export function moduleDigest({ manifest, files }: CatalogueModule): string {
  return digestOf(canonicalJson({ manifest, files: Object.fromEntries(files) }));
}
