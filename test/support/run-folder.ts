/** The folder that holds all temporary files of this run of the tests (scripts/test.mjs); undefined when jest was started otherwise. */
import { tmpdir } from 'node:os';
import path from 'node:path';

export const runFolder = path.basename(tmpdir()).startsWith('mesh-test-') ? tmpdir() : undefined;
