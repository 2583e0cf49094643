import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Browser, type Page } from 'playwright-core'

const candidates = [
  process.env['HONE_CHROMIUM'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:/Program Files/Google/Chrome/Application/chrome.exe',
]

/** An installed Chromium, or null: browser tests are then skipped with that reason. */
export function browserPath(): string | null {
  return candidates.find((path) => path !== undefined && existsSync(path)) ?? null
}

export async function openBrowser(): Promise<Browser> {
  const executablePath = browserPath()
  if (executablePath === null) throw new Error('no Chromium is installed')
  return chromium.launch({
    executablePath,
    args: [
      // Test machines run as root, where Chromium's own sandbox cannot start.
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/** Keeps a screenshot as a test artefact. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  const folder = 'test-results/screenshots'
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`) })
}
