import { expect, it } from 'vitest'
import { AppError } from '../../../shared/errors.ts'
import { seededRandom } from '../random.ts'
import type { Adapter, AdapterGradients } from '../types.ts'
import { adamw, gradientNorm } from './adamw.ts'

function makeAdapter(): Adapter {
  const random = seededRandom(1)
  const values = (count: number): Float32Array =>
    Float32Array.from({ length: count }, () => random.normal())
  const tensor = { name: 'x', inFeatures: 3, outFeatures: 2, a: values(6), b: values(4) }
  return { rank: 2, alpha: 4, tensors: [tensor], revision: 0 }
}

function makeGradients(seed: number, scale = 1): AdapterGradients {
  const random = seededRandom(seed)
  const values = (count: number): Float32Array =>
    Float32Array.from({ length: count }, () => random.normal() * scale)
  return { tensors: [{ a: values(6), b: values(4) }] }
}

const numbers = (adapter: Adapter): number[] =>
  adapter.tensors.flatMap((tensor) => [...tensor.a, ...tensor.b])

it('moves each number by the learning rate against its gradient on the first update', () => {
  const adapter = makeAdapter()
  const before = numbers(adapter)
  const gradients = makeGradients(2, 0.01)
  adamw(adapter).step(gradients, { learningRate: 0.1 })
  const signs = gradients.tensors.flatMap(({ a, b }) => [...a, ...b]).map(Math.sign)
  numbers(adapter).forEach((value, i) => {
    expect(value).toBeCloseTo((before[i] ?? 0) - 0.1 * (signs[i] ?? 0), 4)
  })
})

it('returns the norm before clipping, and clipping makes a huge gradient act like a small one', () => {
  const [small, huge] = [makeAdapter(), makeAdapter()]
  const optimisers = [adamw(small), adamw(huge)] as const
  for (let i = 0; i < 3; i += 1) {
    const unit = makeGradients(i)
    const norm = gradientNorm(unit.tensors.flatMap(({ a, b }) => [a, b]))
    optimisers[0].step(unit, { learningRate: 0.1, maxNorm: 1 })
    const thousand = {
      tensors: unit.tensors.map(({ a, b }) => ({
        a: a.map((x) => x * 1000),
        b: b.map((x) => x * 1000),
      })),
    }
    expect(optimisers[1].step(thousand, { learningRate: 0.1, maxNorm: 1 }).norm).toBeCloseTo(
      norm * 1000,
      1,
    )
  }
  numbers(huge).forEach((value, i) => expect(value).toBeCloseTo(numbers(small)[i] ?? NaN, 4))
})

it('raises the revision with every update', () => {
  const adapter = makeAdapter()
  const optimiser = adamw(adapter)
  optimiser.step(makeGradients(1), { learningRate: 0.1 })
  optimiser.step(makeGradients(2), { learningRate: 0.1 })
  expect(adapter.revision).toBe(2)
  expect(optimiser.steps).toBe(2)
})

it('goes on from its bytes exactly as if it had not stopped', () => {
  const [through, resumed] = [makeAdapter(), makeAdapter()]
  const whole = adamw(through)
  const first = adamw(resumed)
  for (let i = 0; i < 6; i += 1) whole.step(makeGradients(i), { learningRate: 0.05 })
  for (let i = 0; i < 3; i += 1) first.step(makeGradients(i), { learningRate: 0.05 })
  const second = adamw(resumed, first.serialise())
  for (let i = 3; i < 6; i += 1) second.step(makeGradients(i), { learningRate: 0.05 })
  expect(numbers(resumed)).toEqual(numbers(through))
  expect(second.serialise()).toEqual(whole.serialise())
})

it('refuses the state of another adapter', () => {
  const state = adamw(makeAdapter()).serialise()
  expect(() => adamw(makeAdapter(), state.subarray(4))).toThrow(AppError)
  const renamed = Uint8Array.from(state)
  renamed[0] = 0
  expect(() => adamw(makeAdapter(), renamed)).toThrow(/another adapter/)
})

it('shrinks numbers without a gradient by the weight decay', () => {
  const adapter = makeAdapter()
  const before = numbers(adapter)
  const zero = { tensors: [{ a: new Float32Array(6), b: new Float32Array(4) }] }
  adamw(adapter).step(zero, { learningRate: 0.1, weightDecay: 0.5 })
  numbers(adapter).forEach((value, i) => expect(value).toBeCloseTo((before[i] ?? 0) * 0.95, 6))
})
