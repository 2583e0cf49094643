import { expect, it } from 'vitest'
import type { Host } from '../rpc/client.ts'
import { createExposure } from './exposure.ts'

function setUp() {
  const reports: { hintIds: string[]; milliseconds: number }[] = []
  let time = 0
  const host = {
    hints: { shown: async (report: (typeof reports)[0]) => void reports.push(report) },
  }
  const exposure = createExposure(host as unknown as Host, () => time)
  const pass = (milliseconds: number): void => {
    time += milliseconds
  }
  return { exposure, reports, pass }
}

it('reports only the time during which a hint was on the screen', () => {
  const { exposure, reports, pass } = setUp()
  exposure.show('a')
  pass(3000)
  exposure.show('b')
  pass(2000)
  exposure.tick(true)
  expect(reports).toEqual([
    { hintIds: ['a'], milliseconds: 5000 },
    { hintIds: ['b'], milliseconds: 2000 },
  ])
})

it('counts nothing while the window is closed, and starts anew afterwards', () => {
  const { exposure, reports, pass } = setUp()
  exposure.show('a')
  pass(5000)
  exposure.tick(false)
  pass(1000)
  exposure.tick(true)
  expect(reports).toEqual([{ hintIds: ['a'], milliseconds: 1000 }])
})

it('counts a hint that is shown twice once, until both are gone', () => {
  const { exposure, reports, pass } = setUp()
  exposure.show('a')
  exposure.show('a')
  exposure.hide('a')
  pass(4000)
  exposure.tick(true)
  exposure.hide('a')
  pass(4000)
  exposure.tick(true)
  expect(reports).toEqual([{ hintIds: ['a'], milliseconds: 4000 }])
})

it('does not count the night through which the machine slept', () => {
  const { exposure, reports, pass } = setUp()
  exposure.show('a')
  pass(8 * 3600 * 1000)
  exposure.tick(true)
  expect(reports[0]?.milliseconds).toBeLessThanOrEqual(10_000)
})
