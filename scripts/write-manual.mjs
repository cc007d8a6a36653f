// Writes docs/commands.md from the compiled definitions of the commands: npm run build, then this.
import { writeFileSync } from 'node:fs';
import { commandTable } from '../dist/cli/command-table.js';
import { manualPage } from '../dist/cli/render/manual.js';

writeFileSync(new URL('../docs/commands.md', import.meta.url), manualPage(commandTable));
