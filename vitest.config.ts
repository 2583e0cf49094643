import { defineConfig } from 'vitest/config'
import { TotalsReporter } from './scripts/support/totals-reporter.ts'

const minute = 60_000

interface Tier {
  readonly name: string
  readonly include: string[]
  readonly exclude?: string[]
  readonly timeoutMs: number
  readonly workers: number
}

// Tiers that load models, start browsers or measure must never share the two cores with another file.
const tiers: readonly Tier[] = [
  {
    name: 'unit',
    include: ['{app,scripts,eval,bench,native}/**/*.test.{ts,tsx}', 'test/support/**/*.test.ts'],
    exclude: ['**/*.{native,model}.test.{ts,tsx}'],
    timeoutMs: minute / 2,
    workers: 2,
  },
  { name: 'guards', include: ['test/guards/**/*.test.ts'], timeoutMs: minute, workers: 2 },
  alone('native', ['**/*.native.test.ts'], 5),
  alone('model', ['**/*.model.test.ts'], 10),
  alone('conformance', ['test/conformance/**/*.test.ts'], 2),
  alone('invariant', ['test/invariant/**/*.test.ts'], 10),
  alone('e2e', ['test/e2e/**/*.test.ts'], 10),
]

function alone(name: string, include: string[], minutes: number): Tier {
  return { name, include, timeoutMs: minutes * minute, workers: 1 }
}

const wholeRun = ['default', 'json', new TotalsReporter()]
const notOurs = ['**/node_modules/**', 'out/**', 'dist/**', '.cache/**']

export default defineConfig({
  test: {
    passWithNoTests: true,
    // `npm test` sets this; a single run by hand must not overwrite its totals.
    reporters: process.env['HONE_TEST_TOTALS'] === '1' ? wholeRun : ['default'],
    outputFile: { json: 'test-results/report.json' },
    projects: tiers.map((tier, index) => ({
      test: {
        name: tier.name,
        include: tier.include,
        exclude: [...notOurs, ...(tier.exclude ?? [])],
        environment: 'node',
        pool: 'forks',
        testTimeout: tier.timeoutMs,
        hookTimeout: tier.timeoutMs,
        maxWorkers: tier.workers,
        fileParallelism: tier.workers > 1,
        sequence: { groupOrder: index },
        env: { UV_THREADPOOL_SIZE: '12' },
      },
    })),
  },
})
