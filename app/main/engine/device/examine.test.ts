import { expect, it } from 'vitest'
import { summarise } from './examine.ts'

const memory = { freeBytes: 1, totalBytes: 2 }
const gpu = (name: string) => {
  return { kind: 'vulkan', name, description: name, integrated: false, memory } as const
}
const found = { step: 'found', gpus: [gpu('one'), gpu('two')] } as const
const passed = { step: 'tested', name: 'one', trouble: null } as const

it('a device that ended the test’s process is refused with how it ended, the one before it is not', () => {
  const { gpus, reason } = summarise(
    'vulkan',
    [found, passed],
    'its test ended the process (SIGABRT)',
  )
  expect(gpus.map(({ trouble }) => trouble)).toEqual([null, 'its test ended the process (SIGABRT)'])
  expect(reason).toBeNull()
})

it('a process that failed before it found anything gives its end as the reason', () => {
  const examined = summarise('cuda', [], 'its test ended the process (SIGSEGV)')
  expect(examined).toEqual({ gpus: [], reason: 'its test ended the process (SIGSEGV)' })
})

it('a missing package and a missing driver are told apart', () => {
  const missing = { step: 'missing', reason: 'the package x is not installed' } as const
  expect(summarise('cuda', [missing], null).reason).toBe('the package x is not installed')
  const none = summarise('cuda', [{ step: 'found', gpus: [] }], null)
  expect(none.reason).toBe('no cuda device with its driver was found')
})
