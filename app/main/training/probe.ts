// Finds the one position where two adapters differ most, so that a swap can be checked on what is really served.
import type { ProbePosition } from '../../shared/contract/trainer.ts'
import type { Exchange } from '../../shared/domain/training.ts'
import { AppError } from '../../shared/errors.ts'
import type { Adapter, EngineModel, YieldPoint } from '../engine/index.ts'
import { exchangeTokens } from './anchors.ts'
import { at } from './losses/surrogate.ts'

/** Likeliest tokens taken from each side: they hold nearly all mass of both distributions. */
const topCount = 20

export interface ProbeOptions {
  readonly model: EngineModel
  /** null = the base. */
  readonly oldAdapter: Adapter | null
  readonly newAdapter: Adapter | null
  readonly exchanges: readonly Exchange[]
  readonly yieldPoint: YieldPoint
}

export async function findProbe(options: ProbeOptions): Promise<ProbePosition> {
  const { model, oldAdapter, newAdapter, yieldPoint } = options
  const widest = await widestPosition(options)
  // One reply position whose token does not matter: the distribution before it is what counts.
  const request = {
    tokens: widest.tokens.slice(0, widest.position + 1),
    responseStart: widest.position,
    temperature: 1,
    yieldPoint,
  }
  const topK = Math.min(topCount, model.info.vocabulary)
  const oldTop = await model.score({ ...request, adapter: oldAdapter, topK })
  const newTop = await model.score({ ...request, adapter: newAdapter, topK })
  const gatherIds = Int32Array.from(new Set([...oldTop.topIds, ...newTop.topIds])) // [M]
  const oldScore = await model.score({ ...request, adapter: oldAdapter, gatherIds })
  const newScore = await model.score({ ...request, adapter: newAdapter, gatherIds })
  return {
    prefixIds: [...widest.tokens.slice(0, widest.position)],
    kl: widest.kl,
    tokenIds: [...gatherIds],
    oldLogProbs: [...oldScore.gathered],
    newLogProbs: [...newScore.gathered],
  }
}

interface Widest {
  readonly kl: number
  readonly tokens: Int32Array
  /** Index into `tokens`. */
  readonly position: number
}

async function widestPosition(options: ProbeOptions): Promise<Widest> {
  const { model, oldAdapter, newAdapter, yieldPoint } = options
  let widest: Widest | null = null
  for (const exchange of options.exchanges) {
    const sequence = exchangeTokens(exchange)
    const request = { ...sequence, temperature: 1, yieldPoint }
    // The head has no adapter, so old hidden states in place of the base's give KL(old ‖ new).
    const baseHidden = await model.hidden({ ...request, adapter: oldAdapter })
    const kl = await model.kl({ ...request, adapter: newAdapter, baseHidden }) // [R]
    for (let t = 0; t < kl.length; t++) {
      if (widest !== null && at(kl, t) <= widest.kl) continue
      widest = { kl: at(kl, t), tokens: sequence.tokens, position: sequence.responseStart + t }
    }
  }
  if (widest === null) throw new AppError('invalid-input', 'a probe needs at least one exchange')
  return widest
}
