import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export interface Surroundings {
  readonly platform: NodeJS.Platform
  readonly environment: NodeJS.ProcessEnv
  readonly isRoot: boolean
  readonly exists?: (path: string) => boolean
}

export type BrowserChoice =
  | { readonly kind: 'found'; readonly program: string }
  | { readonly kind: 'none'; readonly reason: string }

const linuxNames = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
  'microsoft-edge',
  'microsoft-edge-stable',
  'brave-browser',
]
const macPlaces = ['Google Chrome', 'Chromium', 'Microsoft Edge', 'Brave Browser'].map(
  (name) => `/Applications/${name}.app/Contents/MacOS/${name}`,
)
const windowsPlaces = [
  'Google\\Chrome\\Application\\chrome.exe',
  'Chromium\\Application\\chrome.exe',
  'Microsoft\\Edge\\Application\\msedge.exe',
]
const windowsRoots = ['ProgramFiles', 'ProgramFiles(x86)', 'LocalAppData']

/** Looks for a browser that can show the app in a window of its own. */
export function findBrowser(around: Surroundings): BrowserChoice {
  // Chromium's sandbox does not start for root, and Hone never switches it off.
  if (around.isRoot) return { kind: 'none', reason: 'no browser is opened for the root user' }
  if (around.platform === 'linux' && !hasDisplay(around.environment)) {
    return { kind: 'none', reason: 'there is no display' }
  }
  const exists = around.exists ?? existsSync
  const program = candidates(around).find((path) => exists(path))
  if (program === undefined) {
    return { kind: 'none', reason: 'no Chromium, Chrome or Edge was found' }
  }
  return { kind: 'found', program }
}

/** The arguments that show one page as an app, with a profile that belongs to Hone alone. */
export function appWindowArguments(url: string, dataDir: string): string[] {
  return [
    `--app=${url}`,
    `--user-data-dir=${join(dataDir, 'browser')}`,
    '--no-first-run',
    '--no-default-browser-check',
  ]
}

function hasDisplay(environment: NodeJS.ProcessEnv): boolean {
  return Boolean(environment['DISPLAY']) || Boolean(environment['WAYLAND_DISPLAY'])
}

function candidates({ platform, environment }: Surroundings): string[] {
  if (platform === 'darwin') return macPlaces
  if (platform === 'win32') {
    const roots = windowsRoots.flatMap((name) => environment[name] ?? [])
    return windowsPlaces.flatMap((place) => roots.map((root) => `${root}\\${place}`))
  }
  const folders = (environment['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return linuxNames.flatMap((name) => folders.map((folder) => join(folder, name)))
}
