// The base's final hidden states of neutral exchanges: they depend on the model alone, so a run, the gate's drift check
// and the next run share them. In memory only.
import type { Exchange } from '../../shared/domain/training.ts'
import type { EngineModel, YieldPoint } from '../engine/index.ts'
import { exchangeTokens } from './anchors.ts'

export interface HiddenCache {
  /** [R, C]. */
  of(model: EngineModel, exchange: Exchange, yieldPoint: YieldPoint): Promise<Float32Array>
  clear(): void
}

/** 64 anchors and the gate's own set fit; at 576 columns and 60 reply tokens an entry has 140 kB. */
const mostExchanges = 256

export function createHiddenCache(): HiddenCache {
  const states = new Map<string, Float32Array>()
  return {
    async of(model, exchange, yieldPoint) {
      const key = `${exchange.promptIds.join()}|${exchange.responseIds.join()}`
      const known = states.get(key)
      if (known !== undefined) return known
      const sequence = exchangeTokens(exchange)
      const state = await model.hidden({ ...sequence, temperature: 1, adapter: null, yieldPoint })
      const oldest = states.keys().next()
      if (states.size >= mostExchanges && oldest.done !== true) states.delete(oldest.value)
      states.set(key, state)
      return state
    },
    clear: () => states.clear(),
  }
}
