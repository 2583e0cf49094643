// What the base says about neutral exchanges: it depends on the model alone, so a run, the gate's drift check and the
// next run share it. In memory only.
import type { Exchange } from '../../shared/domain/training.ts'
import type { EngineModel, YieldPoint } from '../engine/index.ts'
import { exchangeTokens } from './anchors.ts'

export interface BaseCache {
  /** Final hidden states at the reply positions, [R, C]. */
  hidden(model: EngineModel, exchange: Exchange, yieldPoint: YieldPoint): Promise<Float32Array>
  /** ℓ_base of one token at the reply positions, [R]. */
  logProbs(
    model: EngineModel,
    exchange: Exchange,
    asked: { readonly id: number; readonly yieldPoint: YieldPoint },
  ): Promise<Float32Array>
  clear(): void
}

/** 64 anchors and the gate's own set fit; at 576 columns and 60 reply tokens hidden states have 140 kB. */
const mostExchanges = 256

export function createBaseCache(): BaseCache {
  const states = createLimited()
  const endings = createLimited()
  return {
    hidden: (model, exchange, yieldPoint) =>
      states.of(keyOf(exchange), () =>
        model.hidden({ ...exchangeTokens(exchange), temperature: 1, adapter: null, yieldPoint }),
      ),
    logProbs: (model, exchange, { id, yieldPoint }) =>
      endings.of(`${id}|${keyOf(exchange)}`, async () => {
        const { gathered } = await model.score({
          ...exchangeTokens(exchange),
          ...{ temperature: 1, adapter: null, yieldPoint },
          gatherIds: new Int32Array(exchange.responseIds.length).fill(id), // [R, 1]
        })
        return gathered
      }),
    clear() {
      states.clear()
      endings.clear()
    },
  }
}

function keyOf({ promptIds, responseIds }: Exchange): string {
  return `${promptIds.join()}|${responseIds.join()}`
}

function createLimited() {
  const known = new Map<string, Float32Array>()
  return {
    async of(key: string, make: () => Promise<Float32Array>): Promise<Float32Array> {
      const value = known.get(key) ?? (await make())
      const oldest = known.keys().next()
      if (!known.has(key) && known.size >= mostExchanges && oldest.done !== true) {
        known.delete(oldest.value)
      }
      known.set(key, value)
      return value
    },
    clear: () => known.clear(),
  }
}
