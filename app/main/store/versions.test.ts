import { describe, expect, test } from 'vitest'
import { listEvents } from './events.ts'
import { newVersion, testFolder, testStore } from './test-store.ts'

const gate = {
  passed: true,
  checks: [
    { name: 'drift', verdict: 'passed', sentence: 'Drift 0.07 nat.', value: 0.07, limit: 0.3 },
  ],
  sentence: 'Passed.',
  seconds: 4.5,
} as const

describe('versions', () => {
  test('numbers are never given twice, not even after a restart or a rejection', () => {
    using folder = testFolder()
    {
      using env = testStore(folder)
      expect(env.store.nextVersion()).toBe(1)
      env.store.addVersion(newVersion(1, 0))
      env.store.reject(1)
      expect(env.store.nextVersion()).toBe(2)
    }
    using env = testStore(folder)
    expect(env.store.nextVersion()).toBe(3)
    env.store.addVersion(newVersion(9, 0))
    env.store.addVersion(newVersion(3, 0))
    expect(env.store.nextVersion()).toBe(10)
  })

  test('a new version is a candidate with its report', () => {
    using env = testStore()
    const version = env.store.addVersion(newVersion(1, 0))
    expect(version).toMatchObject({ ...newVersion(1, 0), state: 'candidate', gate: null })
    expect(env.store.version(1)).toEqual(version)
    expect(env.store.version(2)).toBeNull()
    expect(() => env.store.addVersion(newVersion(1, 0))).toThrow('already is a version 1')
  })

  test('exactly one version is active, and the former one retires', () => {
    using env = testStore()
    for (const number of [1, 2]) env.store.addVersion(newVersion(number, number - 1))
    expect(env.store.activeVersion()).toBe(0)
    env.store.activate(1)
    env.store.activate(2)
    expect(env.store.activeVersion()).toBe(2)
    expect(env.store.versions().map(({ state }) => state)).toEqual(['retired', 'active'])
    env.store.activate(1)
    expect(env.store.versions().map(({ state }) => state)).toEqual(['active', 'retired'])
    env.store.activate(0)
    expect(env.store.activeVersion()).toBe(0)
    expect(env.store.versions().map(({ state }) => state)).toEqual(['retired', 'retired'])
    const events = listEvents(env.connection).filter(({ kind }) => kind === 'version-activated')
    expect(events.map(({ subject, detail }) => [subject, detail])).toEqual([
      ['v1', { from: 0 }],
      ['v2', { from: 1 }],
      ['v1', { from: 2 }],
      ['v0', { from: 1 }],
    ])
  })

  test('a version that cannot become active leaves the active one where it was', () => {
    using env = testStore()
    for (const number of [1, 2]) env.store.addVersion(newVersion(number, 0))
    env.store.activate(1)
    env.store.reject(2)
    expect(() => env.store.activate(2)).toThrow('version 2 was rejected')
    expect(() => env.store.activate(3)).toThrow('there is no version 3')
    expect(() => env.store.reject(1)).toThrow('version 1 is active')
    expect(env.store.activeVersion()).toBe(1)
    expect(env.store.version(2)?.state).toBe('rejected')
  })

  test('the gate result and a taint stay with the version', () => {
    using env = testStore()
    env.store.addVersion(newVersion(1, 0))
    env.store.setGate(1, { ...gate, checks: [...gate.checks] })
    env.store.taint(1, 'a hint it learned from was vetoed')
    expect(env.store.version(1)).toMatchObject({
      gate,
      tainted: 'a hint it learned from was vetoed',
    })
    expect(() => env.store.taint(7, 'x')).toThrow('there is no version 7')
    expect(listEvents(env.connection).map(({ kind }) => kind)).toEqual([
      'version-added',
      'version-gated',
      'version-tainted',
    ])
  })
})
