// The whole loop as a person goes through it: a real browser, the real default model, the real trainer.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startHost, type RunningHost } from '../../eval/host.ts'
import { browserPath, keepScreenshot, openBrowser } from '../support/browser.ts'
import { defaultModelPath } from '../support/model.ts'
import { temporaryFolder, type TemporaryFolder } from '../support/temporary-folder.ts'

const modelPath = defaultModelPath()
const missing =
  modelPath === null
    ? 'the default model is not here'
    : browserPath() === null
      ? 'no Chromium is installed'
      : null

const minute = 60_000

describe.skipIf(missing !== null)(
  `the loop in a browser${missing === null ? '' : ` (skipped: ${missing})`}`,
  () => {
    let folder: TemporaryFolder
    let host: RunningHost
    let browser: Browser
    let page: Page
    const stop = new AbortController()
    const problems: string[] = []

    const replies = (): Locator => page.getByRole('article', { name: 'Hone' })
    const open = (name: string): Promise<void> =>
      page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name }).click()

    /** Until the page shows it: the former chat's replies would be counted as its own. */
    async function startNewChat(): Promise<void> {
      await page.getByRole('button', { name: 'New chat' }).first().click()
      await expect.poll(() => replies().count(), { timeout: minute }).toBe(0)
    }

    /** Sends a message and waits until its reply is complete. */
    async function say(text: string): Promise<void> {
      const before = await replies().count()
      await page.getByRole('textbox', { name: 'Message' }).fill(text)
      await page.getByRole('button', { name: 'Send', exact: true }).click()
      await replies().nth(before).waitFor({ timeout: minute })
      await page
        .getByRole('button', { name: 'Stop', exact: true })
        .waitFor({ state: 'hidden', timeout: 3 * minute })
      await replies()
        .nth(before)
        .and(page.locator('[aria-busy=false]'))
        .waitFor({ timeout: minute })
    }

    beforeAll(async () => {
      folder = await temporaryFolder()
      host = await startHost({
        modelPath: modelPath ?? '',
        dataDir: folder.path,
        signal: stop.signal,
        seed: 11,
      })
      browser = await openBrowser()
      const context = await browser.newContext({
        viewport: { width: 1280, height: 860 },
        reducedMotion: 'reduce',
        locale: 'en-GB',
      })
      page = await context.newPage()
      page.setDefaultTimeout(minute)
      page.on('pageerror', (error) => problems.push(error.message))
      page.on('console', (message) => {
        if (message.type() === 'error') problems.push(message.text())
      })
      await page.goto(host.url)
    })

    afterAll(async () => {
      await browser?.close()
      await host?.[Symbol.asyncDispose]()
      await folder?.[Symbol.asyncDispose]()
    })

    it('opens, streams a reply of the base model and names it', async () => {
      await page.getByRole('textbox', { name: 'Message' }).waitFor()
      await keepScreenshot(page, '01-first-start')
      await say('Explain osmosis.')
      await replies().first().getByText('base', { exact: true }).waitFor()
      expect((await replies().first().innerText()).split(/\s+/).length).toBeGreaterThan(40)
      await keepScreenshot(page, '02-first-reply')
    })

    it('judges a correction as −1 and proposes the hint', async () => {
      await say('Too long. At most 40 words please.')
      const first = replies().first()
      await first.getByRole('button', { name: /^Reward −1/ }).waitFor()
      await first.getByRole('button', { name: 'Approve hint' }).waitFor()
      await keepScreenshot(page, '03-hint-proposed')
      await first.getByRole('button', { name: 'Approve hint' }).click()
      await first.getByRole('button', { name: 'Undo' }).waitFor()
      await say('Thanks, that is good.')
      await replies()
        .nth(1)
        .getByRole('button', { name: /^Reward \+1/ })
        .waitFor()
      await keepScreenshot(page, '04-accepted')
    })

    it(
      'trains, passes the gate and answers as v1',
      async () => {
        await open('Learning')
        await page.getByRole('button', { name: 'Train now' }).click()
        await page
          .getByRole('status')
          .getByText(/Training/)
          .first()
          .waitFor()
        await page.getByRole('progressbar').waitFor({ timeout: 4 * minute })
        await keepScreenshot(page, '05-training')
        await page
          .getByRole('status')
          .getByText(/v1 is live/)
          .waitFor({ timeout: 10 * minute })
        await open('Chat')
        await startNewChat()
        await say('Explain tides.')
        await replies().first().getByText('v1', { exact: true }).waitFor()
        await keepScreenshot(page, '06-answered-by-v1')
      },
      20 * minute,
    )

    it('shows a point on the reward curve and cells in the heat map', async () => {
      await open('Learning')
      const curve = page.getByRole('figure', { name: /Reward/ }).first()
      await curve.waitFor()
      expect(await curve.getByRole('row', { includeHidden: true }).count()).toBeGreaterThan(1)
      const grid = page.getByRole('grid')
      await grid.waitFor()
      expect(await grid.getByRole('gridcell').count()).toBeGreaterThan(10)
      await keepScreenshot(page, '07-learning')
    })

    it('keeps a vetoed hint out of every sample', async () => {
      await open('Chat')
      await say('No, please use a bullet list.')
      const first = replies().first()
      await first.getByRole('button', { name: 'Veto hint' }).first().click()
      await first.getByRole('button', { name: 'Undo' }).first().waitFor()
      await keepScreenshot(page, '08-vetoed')
      using database = new DatabaseSync(join(folder.path, 'hone.db'), { readOnly: true })
      const vetoed = database.prepare("select id from hints where state = 'vetoed'").all()
      expect(vetoed.length).toBeGreaterThan(0)
      const samples = database
        .prepare('select * from samples')
        .all()
        .map((row) => JSON.stringify(row))
      expect(samples.length).toBeGreaterThan(0)
      for (const { id } of vetoed) {
        expect(samples.filter((sample) => sample.includes(String(id)))).toEqual([])
      }
    })

    it('exports v1 and rolls back to the base in one click', async () => {
      await open('Adapters')
      await keepScreenshot(page, '09-adapters')
      await page
        .getByRole('button', { name: /^Export/ })
        .first()
        .click()
      await page
        .getByText(/hone-.*-v1\.gguf/)
        .first()
        .waitFor()
      expect(existsSync(join(folder.path, 'exports'))).toBe(true)
      await keepScreenshot(page, '10-exported')
      await page.keyboard.press('Escape')
      const rollBack = page.getByRole('button', { name: 'Roll back to base' })
      await rollBack.click()
      // It goes when the base is what answers.
      await rollBack.waitFor({ state: 'hidden' })
      await open('Chat')
      await startNewChat()
      await say('Explain rainbows.')
      await replies().first().getByText('base', { exact: true }).waitFor()
      await keepScreenshot(page, '11-rolled-back')
    })

    it('shows the notes and the settings, and nothing failed in the page', async () => {
      await open('Hints')
      await page.getByText('At most 40 words', { exact: false }).first().waitFor()
      await keepScreenshot(page, '12-hints')
      await open('Settings')
      await page.getByText('SmolLM2', { exact: false }).first().waitFor()
      await keepScreenshot(page, '13-settings')
      expect(problems).toEqual([])
    })
  },
)
