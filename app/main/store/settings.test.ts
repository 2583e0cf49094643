import { describe, expect, test } from 'vitest'
import { defaultSettings } from '../../shared/domain/settings.ts'
import { testFolder, testStore } from './test-store.ts'

describe('settings', () => {
  test('a new store has the defaults', () => {
    using env = testStore()
    expect(env.store.settings()).toEqual(defaultSettings)
  })

  test('a change survives a restart and leaves the rest alone', () => {
    using folder = testFolder()
    {
      using env = testStore(folder)
      const changed = env.store.updateSettings({
        scaffold: false,
        judge: { mode: 'off', votes: 5 },
      })
      expect(changed).toEqual({
        ...defaultSettings,
        scaffold: false,
        judge: { mode: 'off', votes: 5 },
      })
    }
    using env = testStore(folder)
    expect(env.store.settings()).toMatchObject({
      scaffold: false,
      judge: { mode: 'off', votes: 5 },
    })
  })

  test('a value out of range is refused and nothing changes', () => {
    using env = testStore()
    const sampling = { ...defaultSettings.sampling, temperature: 9 }
    expect(() => env.store.updateSettings({ sampling, theme: 'dark' })).toThrow(
      'sampling.temperature',
    )
    expect(env.store.settings()).toEqual(defaultSettings)
  })

  test('a missing field, a damaged one and an unknown one do not cost the others', () => {
    using env = testStore()
    const put = (name: string, value: string) =>
      env.connection.run('INSERT INTO settings (name, value) VALUES (?, ?)', name, value)
    put('sampling', '{"temperature": 0.9, "topP": "high", "fromTheFuture": 1}')
    put('theme', '"pink"')
    put('idleMinutes', '{broken')
    put('practice', 'false')
    put('fromTheFuture', '{"a": 1}')
    expect(env.store.settings()).toEqual({
      ...defaultSettings,
      sampling: { ...defaultSettings.sampling, temperature: 0.9 },
      practice: false,
    })
    env.store.updateSettings({ theme: 'light' })
    expect(env.connection.get(`SELECT value FROM settings WHERE name = 'fromTheFuture'`)).toEqual({
      value: '{"a": 1}',
    })
  })
})

describe('values and exchanges', () => {
  test('a value is found under its key, and nothing under another', () => {
    using env = testStore()
    env.store.setValue('self-test', { passed: true, score: 1 / 3 })
    env.store.setValue('self-test', { passed: false, score: 2 / 3 })
    expect(env.store.value('self-test')).toEqual({ passed: false, score: 2 / 3 })
    expect(env.store.value('other')).toBeUndefined()
    expect(() => env.store.setValue('nothing', undefined)).toThrow('nothing has no JSON value')
  })

  test('exchanges belong to a model and a set', () => {
    using env = testStore()
    const exchanges = [{ promptIds: [1, 2], responseIds: [3] }]
    env.store.setExchanges('model', 'anchor', exchanges)
    expect(env.store.exchanges('model', 'anchor')).toEqual(exchanges)
    expect(env.store.exchanges('model', 'gate')).toBeNull()
    env.store.setExchanges('model', 'anchor', [])
    expect(env.store.exchanges('model', 'anchor')).toEqual([])
    env.connection.run(`UPDATE exchanges SET exchanges = '[{"promptIds": "no"}]'`)
    expect(env.store.exchanges('model', 'anchor')).toBeNull()
  })
})
