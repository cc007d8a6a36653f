/** Who has an account on the bus: public halves only (U15). */
export type BusCredentialKind = 'node' | 'client' | 'token' | 'program' | 'seat';

export type NewBusCredential = {
  readonly kind: BusCredentialKind;
  /** What the account belongs to: a node's name (of `node` and of `client`), a token's id, `<node>.<module>`, a seat's name. */
  readonly name: string;
  readonly accountKey: string;
  readonly userKey: string;
  readonly userJwt: string;
};
export type BusCredentialRow = NewBusCredential & {
  readonly createdAt: Date;
  /** When the bus was seen to have the account. Absent: it may have it or not. */
  readonly pushedAt?: Date;
  readonly revokedAt?: Date;
};

export type BusCredentialRows = {
  /** False when that kind and name have a live one already. */
  insertBusCredential(credential: NewBusCredential): Promise<boolean>;
  liveBusCredential(kind: BusCredentialKind, name: string): Promise<BusCredentialRow | undefined>;
  liveBusCredentials(): Promise<readonly BusCredentialRow[]>;
  setBusCredentialPushed(accountKey: string): Promise<boolean>;
  /** Answers the row when it was live. */
  setBusCredentialRevoked(accountKey: string): Promise<BusCredentialRow | undefined>;
};
