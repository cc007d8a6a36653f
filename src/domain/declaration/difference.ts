/** What a push would change on a node, by the digests of its resources (D6). Ids, sorted. */
export type Difference = {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
};

/** Compares what was last sent with what would be sent: resource id → digest. */
export function differenceOf(sent: ReadonlyMap<string, string>, would: ReadonlyMap<string, string>): Difference {
  return {
    added: [...would.keys()].filter((id) => !sent.has(id)).toSorted(),
    changed: [...would].flatMap(([id, digest]) => (sent.has(id) && sent.get(id) !== digest ? [id] : [])).toSorted(),
    removed: [...sent.keys()].filter((id) => !would.has(id)).toSorted(),
  };
}
