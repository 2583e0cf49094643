import type { SkippedTest, Totals } from './totals-reporter.ts'

/** What `npm test` prints last: each skipped group with its reason, then the totals line. */
export function closingLines(totals: Totals): string[] {
  const groups = new Map<string, SkippedTest[]>()
  for (const test of totals.skipped) {
    const key = `${test.tier} ${test.file}: ${test.reason ?? 'no reason given'}`
    groups.set(key, [...(groups.get(key) ?? []), test])
  }
  const named = [...groups].map(([key, tests]) => `skipped ${tests.length} of ${key}`)
  const broken =
    totals.brokenFiles === 0 ? [] : [`${totals.brokenFiles} files or hooks failed outside a test`]
  return [...named, ...broken, totalsLine(totals)]
}

function totalsLine(totals: Totals): string {
  const failed = totals.failed + totals.brokenFiles
  return `${totals.passed} passed, ${failed} failed, ${totals.skipped.length} skipped`
}
