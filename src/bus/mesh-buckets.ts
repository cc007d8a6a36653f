/** The provisioner's buckets (6-provisioner), made by the controller. Who may do what in them is in `accounts.ts`. */
import { boundBucket, buckets, type BucketName } from '../domain/provisioning/values.ts';
import type { BusConnection } from './connection.ts';
import { ensureBucket } from './streams.ts';

const mebibyte = 1024 * 1024;
/** What a bucket may hold: its whole, and one value of it. Needs and collections grow with the mesh, values never do. */
const limits: Readonly<Record<BucketName, { readonly bytes: number; readonly valueBytes: number }>> = {
  [buckets.registry]: { bytes: mebibyte, valueBytes: 4 * 1024 },
  [buckets.needs]: { bytes: 256 * mebibyte, valueBytes: mebibyte / 16 },
  [buckets.applied]: { bytes: 64 * mebibyte, valueBytes: mebibyte / 16 },
  [buckets.collect]: { bytes: 64 * mebibyte, valueBytes: mebibyte / 16 },
  [buckets.assignments]: { bytes: 256 * mebibyte, valueBytes: mebibyte / 4 },
  [buckets.settings]: { bytes: 256 * mebibyte, valueBytes: mebibyte / 4 },
  [buckets.compositions]: { bytes: 64 * mebibyte, valueBytes: mebibyte / 16 },
  [buckets.health]: { bytes: 16 * mebibyte, valueBytes: mebibyte / 64 },
};

/** Makes the provisioner's buckets, and one of bindings' facts for each of these providers. Safe to repeat. */
export async function ensureBuckets(mesh: BusConnection, providers: readonly string[] = []): Promise<void> {
  for (const bucket of Object.values(buckets)) await ensureBucket(mesh, bucket, limits[bucket]);
  for (const provider of providers) await ensureBucket(mesh, boundBucket(provider));
}
