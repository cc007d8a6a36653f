/** What the host says to whoever runs it. A pino logger is one; no field and no text ever holds a secret's value (S5). */
export type Say = {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
};
