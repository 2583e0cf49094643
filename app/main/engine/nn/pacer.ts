// Gives the cores back between graph segments: asks the caller's yield point for the number of threads, and lets
// the event loop run. It never changes what is computed.
import { setImmediate } from 'node:timers/promises'
import type { Pacer, Runtime } from '../ffi/index.ts'
import type { YieldPoint } from '../types.ts'

/** Multiply-adds in one segment: 40 ms on one core of the reference machine, so 100 ms on half its speed. */
const segmentBudget = 1.5e9

export function createPacer(
  runtime: Runtime,
  options: { readonly threads: number; readonly yieldPoint?: YieldPoint | undefined },
): Pacer {
  let spent = Infinity
  return {
    budget: segmentBudget,
    async before(cost) {
      if (spent + cost > segmentBudget) {
        await setImmediate()
        const threads = (await options.yieldPoint?.())?.threads ?? options.threads
        runtime.setThreads(threads)
        spent = 0
      }
      spent += cost
    },
  }
}
