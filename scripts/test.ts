// Everything: fetches the default model, runs all tiers, names what was skipped, ends with totals.
import { readFileSync, rmSync } from 'node:fs'
import { closingLines } from './support/closing-lines.ts'
import { buildRendererIfStale } from './launcher/renderer-build.ts'
import { runCommand } from './support/command.ts'
import { toolArguments } from './support/tools.ts'
import { totalsFile, type Totals } from './support/totals-reporter.ts'

const fetched = await runCommand(
  process.execPath,
  ['scripts/fetch-model.ts', '--models-dir', '.cache/models'],
  { live: true },
)
if (fetched.code !== 0) console.log('The default model is not here: its tests will be skipped.')

// The browser tests open the built page.
await buildRendererIfStale(process.cwd())

rmSync(totalsFile, { force: true })
const run = await runCommand(
  process.execPath,
  toolArguments('vitest', ['run', ...process.argv.slice(2)]),
  { live: true, env: { HONE_TEST_TOTALS: '1' } },
)

const totals = readTotals()
for (const line of totals === null
  ? ['the test runner died before it counted']
  : closingLines(totals))
  console.log(line)
const ranSomething = totals !== null && totals.passed + totals.failed > 0
process.exitCode = run.code === 0 && ranSomething ? 0 : 1

function readTotals(): Totals | null {
  try {
    return JSON.parse(readFileSync(totalsFile, 'utf8')) as Totals
  } catch (error) {
    console.error(`cannot read ${totalsFile}: ${String(error)}`)
    return null
  }
}
