// The TypeScript side of test/fixtures/numerics/make_reference.py: adapters with random B, the recorded cases and
// ways to compare. The models themselves come from tiny-model.ts, their numbers from random-tensors.ts.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Adapter, AdapterTensor, GatheredLoss } from '../../app/main/engine/types.ts'
import { randomTensor, uniformOf } from './random-tensors.ts'
import type { TinyConfig } from './tiny-model.ts'

export { randomTensor, uniformOf } from './random-tensors.ts'
export { tinyConfig, writeTinyModel } from './tiny-model.ts'

/** Fills an adapter with the reference's numbers, B not zero. */
export function fillReferenceAdapter(adapter: Adapter, bScale: number): Adapter {
  for (const tensor of adapter.tensors) {
    const scale = Math.sqrt(3 / adapter.rank)
    tensor.a.set(randomTensor(`${tensor.name}.lora_a`, tensor.a.length, { scale }))
    tensor.b.set(randomTensor(`${tensor.name}.lora_b`, tensor.b.length, { scale: bScale }))
  }
  adapter.revision += 1
  return adapter
}

export interface ReferenceCase {
  readonly tokens: readonly number[]
  readonly responseStart: number
  readonly temperature: number
  readonly idsPerRow: number
  readonly gatherIds: readonly number[]
  readonly advantages: readonly number[]
  readonly weights: readonly number[]
  readonly old: readonly number[]
}

export interface Reference<Gradient> {
  readonly rank: number
  readonly alpha: number
  readonly bScale: number
  readonly case: ReferenceCase
  readonly loss: number
  readonly logProbs: readonly number[]
  readonly topIds: readonly number[]
  readonly gradients: Readonly<Record<string, Gradient>>
  readonly kl: readonly number[]
  readonly klGradients: Readonly<Record<string, Gradient>>
}

export interface TinyReference extends Reference<string> {
  readonly adamw: {
    readonly learningRate: number
    readonly losses: readonly number[]
    readonly norms: readonly number[]
    readonly final: Readonly<Record<string, string>>
  }
}

/** A tiny model of one architecture; gradients of the divergence and the path of ten updates as projections. */
export interface ArchitectureReference extends Omit<Reference<string>, 'klGradients'> {
  readonly model: TinyConfig
  /** All log-probabilities at the response positions, [R, V]. */
  readonly lines: string
  readonly klGradients: Readonly<Record<string, readonly number[]>>
  readonly adamw: {
    readonly learningRate: number
    readonly losses: readonly number[]
    readonly norms: readonly number[]
    /** What the updates changed. */
    readonly change: Readonly<Record<string, readonly number[]>>
  }
}

export interface ModelReference extends Reference<readonly number[]> {
  readonly projections: number
}

export function readReference<T extends Omit<Reference<unknown>, 'klGradients'>>(name: string): T {
  const file = path.resolve(import.meta.dirname, '../fixtures/numerics', `${name}.json`)
  return JSON.parse(readFileSync(file, 'utf8')) as T
}

export function decodeFloats(text: string): Float32Array {
  return new Float32Array(new Uint8Array(Buffer.from(text, 'base64')).buffer)
}

/** mean_r [ −A_r exp(l_r0 − old_r) + Σ_m w_rm l_rm² / 10 ] over m ≥ 1, with its gradient. */
export function referenceLoss(reference: ReferenceCase): GatheredLoss {
  const { idsPerRow: M, advantages, weights, old } = reference
  const rows = advantages.length
  return (logProbs) => {
    const gradient = new Float32Array(logProbs.length)
    let loss = 0
    for (let row = 0; row < rows; row += 1) {
      const ratio = Math.exp((logProbs[row * M] ?? NaN) - (old[row] ?? NaN))
      const surrogate = -(advantages[row] ?? NaN) * ratio
      loss += surrogate
      gradient[row * M] = surrogate / rows
      for (let m = 1; m < M; m += 1) {
        const value = logProbs[row * M + m] ?? NaN
        const weight = weights[row * (M - 1) + m - 1] ?? NaN
        loss += (weight * value * value) / 10
        gradient[row * M + m] = (weight * value) / 5 / rows
      }
    }
    return { loss: loss / rows, gradient }
  }
}

/** ‖found − expected‖ / ‖expected‖. */
export function relativeDifference(found: ArrayLike<number>, expected: ArrayLike<number>): number {
  let difference = 0
  let size = 0
  for (let i = 0; i < expected.length; i += 1) {
    difference += ((found[i] ?? NaN) - (expected[i] ?? NaN)) ** 2
    size += (expected[i] ?? NaN) ** 2
  }
  return Math.sqrt(difference / size)
}

/**
 * Estimates ‖found − expected‖ / ‖expected‖ from the norm of what was expected and its dot products with random
 * vectors, whose mean square is a third of the squared norm.
 */
export function projectedDifference(
  name: string,
  found: Float32Array,
  [norm = NaN, ...dots]: readonly number[],
): number {
  const squares = dots.map((wanted, index) => {
    const direction = uniformOf(`${name}#${index}`, found.length)
    const dot = found.reduce((sum, value, i) => sum + value * (direction[i] ?? NaN), 0)
    return 3 * (dot - wanted) ** 2
  })
  const meanSquare = squares.reduce((sum, square) => sum + square, 0) / squares.length
  return Math.sqrt(meanSquare) / norm
}

/** Both halves of every pair under their file names. */
export function halvesOf(
  adapter: Adapter,
  values: readonly { readonly a: Float32Array; readonly b: Float32Array }[] = adapter.tensors,
): { readonly name: string; readonly values: Float32Array }[] {
  return adapter.tensors.flatMap((tensor: AdapterTensor, i) => {
    const pair = values[i]
    if (pair === undefined) throw new Error(`no values for ${tensor.name}`)
    return [
      { name: `${tensor.name}.lora_a`, values: pair.a },
      { name: `${tensor.name}.lora_b`, values: pair.b },
    ]
  })
}
