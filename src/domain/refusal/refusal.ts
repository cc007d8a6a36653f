/**
 * Refusals: the rules say no. They are values that the domain returns and an operation passes on; nothing was
 * changed. Every kind stands in `refusalKinds`, which docs/refusals.md is compared with both ways (U5).
 */
export type Refusal = {
  readonly kind: RefusalKind;
  /** What was found, with the names of the things it is about. */
  readonly what: string;
  /** Why the rules say no. */
  readonly why: string;
  /** What to do instead: commands where there are any, one each. */
  readonly next: readonly string[];
  /** The same facts for programs: names, numbers, paths. Never a value. */
  readonly facts?: Readonly<Record<string, string | number | readonly string[]>>;
};

/** Each kind, with the exit code it ends a command with (U1): 3 refused and nothing changed, 4 not found. */
export const refusalKinds = {
  'manifest-invalid': 3,
  'manifest-unreadable': 3,
  'not-built-yet': 3,
  'placeholder-unfilled': 3,
  'kind-answered-twice': 3,
  'answer-invalid': 3,
  'route-held': 3,
  'described-twice': 3,
  'forget-destroys': 3,
  'unknown-node': 4,
  'unknown-module': 4,
  'unknown-assignment': 4,
  'unknown-pin': 4,
  'unknown-setting': 4,
  'unknown-route': 4,
  'unknown-credential': 4,
  'unknown-act': 4,
  'unknown-thing': 4,
  'invalid-name': 3,
  'node-exists': 3,
  'node-not-joined': 3,
  'node-in-use': 3,
  'no-provider': 3,
  'ambiguous-provider': 3,
  'ambiguous-local-provider': 3,
  'provider-cycle': 3,
  'pin-unanswered': 3,
  'pin-at-nothing': 3,
  'binding-broken': 3,
  'facts-untold': 3,
  'provider-in-use': 3,
  'capability-missing': 3,
  'nothing-to-run': 3,
  'claim-held': 3,
  'seat-held': 3,
  'port-held': 3,
  'port-carried': 3,
  'ports-exhausted': 3,
  'port-unassigned': 3,
  'path-clash': 3,
  'secret-missing': 3,
  'secret-cannot-be-made': 3,
  'secret-accepted': 3,
  'value-refused': 3,
  'value-unfit': 3,
  'sealed-to-another-key': 3,
  'credential-locked': 3,
  'declaration-too-large': 3,
  'node-unresolvable': 3,
  'act-running': 3,
  'act-committed': 3,
  'token-invalid': 3,
  'enrolment-refused': 3,
  'nothing-to-do': 3,
  'program-missing': 3,
  'port-taken': 3,
} as const satisfies Readonly<Record<string, 3 | 4>>;
export type RefusalKind = keyof typeof refusalKinds;

/** Tells a refusal from any other answer of an operation. */
export function isRefusal(answer: unknown): answer is Refusal {
  return (
    typeof answer === 'object' &&
    answer !== null &&
    'kind' in answer &&
    'what' in answer &&
    'why' in answer &&
    'next' in answer
  );
}
