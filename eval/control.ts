// The neutral control: what was learned must leave everything else where it was.
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { z } from 'zod'
import { openEngine } from '../app/main/engine/index.ts'
import type { EngineModel } from '../app/main/engine/types.ts'
import { openPolicy } from '../app/main/policy/index.ts'
import { mean } from './statistics.ts'

const exchangesSchema = z.array(
  z.object({ prompt: z.string(), reply: z.string(), ended: z.boolean() }),
)
export type NeutralExchange = z.infer<typeof exchangesSchema>[number]

export function neutralExchanges(set: 'anchor' | 'gate' | 'control'): NeutralExchange[] {
  const path = resolve(import.meta.dirname, `../resources/neutral/${set}.json`)
  return exchangesSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
}

const allControl = neutralExchanges('control')

/** So many prompts of the control set, spread over it. */
export function controlPrompts(count: number): string[] {
  return spread(allControl, count).map(({ prompt }) => prompt)
}

function spread<Item>(items: readonly Item[], count: number): Item[] {
  const taken = Math.min(count, items.length)
  return Array.from({ length: taken }, (_, index) => {
    return items[Math.floor((index * items.length) / taken)] as Item
  })
}

export interface NeutralKlOptions {
  readonly modelPath: string
  /** null = the base answers, whose KL to itself is 0. */
  readonly adapterPath: string | null
  /** How many exchanges of the set, spread over it. */
  readonly exchanges: number
  readonly signal: AbortSignal
}

interface Sequence {
  readonly tokens: Int32Array
  readonly responseStart: number
}

/** Mean over the reply positions of KL(base ‖ adapter) at T = 1 on the base's own replies, nats. */
export async function meanNeutralKl(options: NeutralKlOptions): Promise<number> {
  if (options.adapterPath === null) return 0
  const sequences = await tokenise(options)
  await using engine = await openEngine({ threads: Math.max(1, availableParallelism() - 1) })
  await using model = await engine.loadModel(options.modelPath)
  const adapter = await model.readAdapter(options.adapterPath)
  const perPosition: number[] = []
  for (const sequence of sequences) {
    options.signal.throwIfAborted()
    perPosition.push(...(await klOf(model, sequence, adapter)))
  }
  return mean(perPosition)
}

async function klOf(
  model: EngineModel,
  sequence: Sequence,
  adapter: Awaited<ReturnType<EngineModel['readAdapter']>>,
): Promise<Float32Array> {
  const request = { ...sequence, temperature: 1 }
  const baseHidden = await model.hidden({ ...request, adapter: null })
  return model.kl({ ...request, adapter, baseHidden })
}

async function tokenise({ modelPath, exchanges }: NeutralKlOptions): Promise<Sequence[]> {
  await using policy = await openPolicy({ modelPath, device: 'cpu', threads: 1, contextSize: 1024 })
  const { replyEndId: endId } = policy.info()
  if (endId === null) throw new RangeError('the model names no token that ends a reply')
  return spread(allControl, exchanges).map(({ prompt, reply, ended }) => {
    const { ids } = policy.render([{ role: 'user', text: prompt }], { reserve: 1 })
    const response = [...policy.idsOf(reply), ...(ended ? [endId] : [])]
    return { tokens: Int32Array.from([...ids, ...response]), responseStart: ids.length }
  })
}
