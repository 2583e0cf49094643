// LoRA files in memory. node-llama-cpp caches them by path and frees them only with the model, about 20 MB
// each; here they are counted by context and freed with the last one, through two of its internals. Where a
// later release hides those, nothing breaks: the memory is then held until the model closes.

import type { LlamaModel } from 'node-llama-cpp'
import { AppError } from '../../shared/errors.ts'
import { checkGguf, type GgufSummary } from './gguf-check.ts'

export interface AdapterCount {
  take(path: string | null): void
  give(path: string | null): Promise<void>
}

export function countAdapters(model: LlamaModel): AdapterCount {
  const users = new Map<string, number>()
  return {
    take(path) {
      if (path !== null) users.set(path, (users.get(path) ?? 0) + 1)
    },
    async give(path) {
      if (path === null) return
      const left = (users.get(path) ?? 1) - 1
      users.set(path, left)
      if (left > 0) return
      users.delete(path)
      await freeAdapter(model, path)
    },
  }
}

/** How many adapters node-llama-cpp holds, or null where it does not show. */
export function loadedAdapters(model: LlamaModel): number | null {
  return cacheOf(model)?.size ?? null
}

async function freeAdapter(model: LlamaModel, path: string): Promise<void> {
  const cache = cacheOf(model)
  const adapter = cache?.get(path)
  if (cache === null || !isDisposable(adapter)) return
  cache.delete(path)
  await adapter.dispose()
}

function cacheOf(model: LlamaModel): Map<unknown, unknown> | null {
  const cache = (model as unknown as { readonly _loraAdapters?: unknown })._loraAdapters
  return cache instanceof Map ? cache : null
}

function isDisposable(value: unknown): value is { dispose(): Promise<void> } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'dispose' in value &&
    typeof value.dispose === 'function'
  )
}

/** Rejects a file that is no LoRA for this model before llama.cpp sees it. Numbers are the trainer's to check. */
export async function checkAdapter(path: string, base: GgufSummary): Promise<void> {
  const adapter = await checkGguf(path)
  if (adapter.kind !== 'adapter')
    throw new AppError('invalid-input', `${path} is a ${adapter.kind}, not an adapter`)
  if (adapter.architecture !== base.architecture)
    throw new AppError(
      'invalid-input',
      `${path} is an adapter for ${adapter.architecture}, the model is ${base.architecture}`,
    )
  const problem = [...adapter.tensors.keys()]
    .map((name) => problemOf(name, adapter, base))
    .find((text) => text !== null)
  if (problem !== undefined)
    throw new AppError('invalid-input', `${path} does not fit the model: ${problem}`)
}

/** A is [inputs, rank], B is [rank, outputs] for a weight of [inputs, outputs]. */
function problemOf(name: string, adapter: GgufSummary, base: GgufSummary): string | null {
  const weight = /^(.*)\.lora_[ab]$/.exec(name)?.[1]
  if (weight === undefined) return `${name} is no part of a LoRA`
  if (/^(token_embd|output)\./.test(weight)) return `${weight} cannot be adapted here`
  const shape = base.tensors.get(weight)
  if (shape === undefined) return `the model has no ${weight}`
  const a = adapter.tensors.get(`${weight}.lora_a`)
  const b = adapter.tensors.get(`${weight}.lora_b`)
  if (a === undefined || b === undefined) return `${name} is there without its other half`
  if (a[1] !== b[0]) return `the halves of ${weight} have ranks ${a[1]} and ${b[0]}`
  if (a[0] === shape[0] && b[1] === shape[1]) return null
  return `expected ${shape[0]} × ${shape[1]} in ${weight}, found ${a[0]} × ${b[1]}`
}
