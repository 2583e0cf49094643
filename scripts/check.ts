// The gate before a commit: types, lint, format, layers, unit tests and guards, two steps at a time.
import { runCommand } from './support/command.ts'
import { toolArguments } from './support/tools.ts'

interface Step {
  readonly name: string
  readonly args: readonly string[]
}

const unitTests = ['run', '--project', 'unit', '--project', 'guards', '--reporter', 'dot']

const steps: readonly Step[] = [
  { name: 'tests: unit, guards', args: toolArguments('vitest', unitTests) },
  { name: 'types: main', args: toolArguments('tsc', ['-p', 'tsconfig.main.json']) },
  { name: 'types: renderer', args: toolArguments('tsc', ['-p', 'tsconfig.renderer.json']) },
  { name: 'types: shared', args: toolArguments('tsc', ['-p', 'tsconfig.shared.json']) },
  { name: 'lint', args: toolArguments('eslint', ['.', '--max-warnings', '0']) },
  { name: 'format', args: toolArguments('prettier', ['--check', '.', '--log-level', 'warn']) },
  { name: 'layers', args: ['scripts/check-layers.ts'] },
]

const waiting = [...steps]
let failures = 0

async function work(): Promise<void> {
  for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
    const { code, output, seconds } = await runCommand(process.execPath, step.args)
    const passed = code === 0
    if (!passed) failures++
    console.log(`${passed ? 'ok  ' : 'FAIL'} ${step.name} (${seconds.toFixed(1)} s)`)
    if (!passed) console.log(output.trimEnd())
  }
}

await Promise.all([work(), work()])
console.log(failures === 0 ? 'check: all clean' : `check: ${failures} of ${steps.length} failed`)
process.exitCode = failures === 0 ? 0 : 1
