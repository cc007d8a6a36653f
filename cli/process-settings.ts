/** What a module's process is told by options, or by the environment that the host gives it. */
import { problem, Stopped } from './problem.ts';

/** A value that the process cannot do without; ends the command as `usage` when neither way gave it. */
export function required(called: string, option: string, value: string | undefined): string {
  if (value !== undefined && value !== '') return value;
  throw new Stopped(
    problem('usage', {
      what: `${called} needs ${option}`,
      why: 'neither the option nor the environment gives it',
      next: [`${called} --help`],
    }),
  );
}

/** A port by option, else by the environment; ends the command as `usage` when there is none or it is none. */
export function portFrom(called: string, option: number | undefined, variable: string | undefined): number {
  const port = option ?? Number(required(called, '--port', variable));
  if (Number.isInteger(port) && port > 0 && port <= 65_535) return port;
  throw new Stopped(
    problem('usage', {
      what: `${called} cannot listen on port ${port}`,
      why: 'a port is a number from 1 to 65535',
      next: [`${called} --help`],
    }),
  );
}
