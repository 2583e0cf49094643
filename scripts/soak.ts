// The long runs in full: what `npm test` samples (kills, fuzz) is run whole here, one file at a time.
import { runCommand } from './support/command.ts'
import { buildRendererIfStale } from './launcher/renderer-build.ts'
import { toolArguments } from './support/tools.ts'

await buildRendererIfStale(process.cwd())
const run = await runCommand(
  process.execPath,
  toolArguments('vitest', ['run', '--project', 'invariant', ...process.argv.slice(2)]),
  { live: true, env: { HONE_SOAK: '1' } },
)
process.exitCode = run.code ?? 1
