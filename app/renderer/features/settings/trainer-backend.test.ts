import { expect, it } from 'vitest'
import { en } from '../../ui/messages/en.ts'
import { backendText } from './trainer-backend.tsx'

const ggml = {
  ...{ device: 'a processor', kind: 'cpu' as const, gpuReason: null },
  ...{ kernels: null, reason: 'no C compiler found' },
}

it('names the instruction set of our own kernels', () => {
  const own = { ...ggml, kernels: 'AVX512', reason: null, slowdown: null }
  expect(backendText(own, en.settings)).toBe('Hone’s own kernels, compiled here for AVX512.')
})

it('says of ggml alone why, and how much longer training takes', () => {
  expect(backendText({ ...ggml, slowdown: { low: 2.2, high: 2.2 } }, en.settings)).toBe(
    'ggml alone: no C compiler found. Training takes about 2.2 times as long as with Hone’s kernels.',
  )
  expect(backendText({ ...ggml, slowdown: { low: 1.3, high: 2.2 } }, en.settings)).toContain(
    'about 1.3 to 2.2 times as long',
  )
  expect(backendText({ ...ggml, slowdown: null }, en.settings)).toContain('not been measured')
})

it('names the GPU that trains, and why none does', () => {
  const gpu = { ...ggml, device: 'Some RTX', kind: 'cuda' as const, slowdown: null }
  expect(backendText(gpu, en.settings)).toBe('Some RTX, by cuda.')
  const own = { ...ggml, kernels: 'AVX512', reason: null, slowdown: null }
  expect(backendText({ ...own, gpuReason: 'no driver' }, en.settings)).toBe(
    'Hone’s own kernels, compiled here for AVX512. Not on a GPU: no driver.',
  )
})
