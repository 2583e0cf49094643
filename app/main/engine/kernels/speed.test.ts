import { expect, it } from 'vitest'
import { slowdownOf } from './speed.ts'

it('is that of the best instruction set that the processor has', () => {
  expect(slowdownOf(new Set(['sse2', 'avx2', 'avx512f', 'amx_bf16']))).toEqual({
    low: 6.6,
    high: 6.6,
  })
  expect(slowdownOf(new Set(['sse2', 'avx2']))).toEqual({ low: 2.2, high: 2.2 })
})

it('is a range where the system does not say, and nothing where our kernels cannot run', () => {
  expect(slowdownOf(null)).toEqual({ low: 2.2, high: 6.6 })
  expect(slowdownOf(new Set(['sse2']))).toBeNull()
})
