const text = /\.(ts|tsx|js|mjs|cjs|json|md|yml|yaml|py|c|h|css|html|sh)$|^\.ci\/run$|^\.npmrc$/

/** Written in pieces, so that this file is not its own finding. */
const traces: readonly RegExp[] = [
  new RegExp('/ho' + 'me/[\\w.-]+/', 'g'),
  new RegExp('/Us' + 'ers/[\\w.-]+/', 'g'),
  new RegExp('/wo' + 'rk/(main|shared|\\.)', 'g'),
  new RegExp('/tm' + 'p/w/', 'g'),
  new RegExp('[A-Z]:\\\\Us' + 'ers\\\\', 'g'),
  new RegExp('registry\\.(np' + 'mjs\\.org|yarnpkg\\.com)', 'g'),
  new RegExp('(pypi\\.o' + 'rg|files\\.pythonho' + 'sted\\.org)', 'g'),
]

/** Text files written for this project; the lock has a test of its own. */
export function isOurs(file: string): boolean {
  return text.test(file) && file !== 'package-lock.json'
}

/** The paths of one machine and the registry hosts that a text names. */
export function findMachineTraces(content: string): string[] {
  return traces.flatMap((trace) => content.match(trace) ?? [])
}
