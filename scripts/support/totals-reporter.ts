import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Reporter, SerializedError, TestModule } from 'vitest/node'

export const totalsFile = 'test-results/totals.json'

export interface SkippedTest {
  readonly tier: string
  readonly file: string
  readonly name: string
  readonly reason: string | null
}

export interface Totals {
  readonly passed: number
  readonly failed: number
  /** Files that could not be loaded, and errors outside of any test; each counts as one failure. */
  readonly brokenFiles: number
  readonly skipped: readonly SkippedTest[]
}

/** Counts a run for the last lines of `npm test`; a file that did not load is a failure. */
export function countRun(
  modules: readonly TestModule[],
  stray: readonly SerializedError[],
): Totals {
  const skipped: SkippedTest[] = []
  let passed = 0
  let failed = 0
  let brokenFiles = stray.length
  for (const module of modules) {
    let failedHere = 0
    for (const test of module.children.allTests()) {
      const result = test.result()
      if (result.state === 'passed') passed++
      else if (result.state === 'skipped') {
        const file = module.relativeModuleId
        const reason = result.note ?? reasonInName(test.fullName, test.name)
        skipped.push({ tier: module.project.name, file, name: test.fullName, reason })
      } else failedHere++
    }
    failed += failedHere
    if (!module.ok() && failedHere === 0) brokenFiles++
  }
  return { passed, failed, brokenFiles, skipped }
}

/**
 * Why a test was skipped before it ran: "the second model (skipped without its file)" says it in a group's name, and
 * a test that stands for others has the reason for a name of its own.
 */
export function reasonInName(fullName: string, name: string): string {
  return /\((skipped [^)]+)\)/u.exec(fullName)?.[1] ?? name
}

/** Writes the totals where `npm test` reads them after the runner has ended. */
export class TotalsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], stray: readonly SerializedError[]): void {
    mkdirSync(dirname(totalsFile), { recursive: true })
    writeFileSync(totalsFile, JSON.stringify(countRun(modules, stray)))
  }
}
