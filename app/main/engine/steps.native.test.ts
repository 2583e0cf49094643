// 200 training steps on the tiny model: nothing native is left over by any of them, and memory stays where it was.
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { writeTinyModel } from '../../../test/support/numerics.ts'
import { runSteps } from '../../../test/support/step-loop.ts'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import { openEngine } from './index.ts'

// A step's graphs, scratch memory and lists are some hundred kilobytes: 180 of them left over are more than these.
const mostHeapGrowth = 8 * 2 ** 20
const mostNativeGrowth = 32 * 2 ** 20

it.each(['f32', 'native'] as const)(
  '200 steps on the %s path leave no native object and no memory behind',
  async (precision) => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'tiny.gguf')
    await writeTinyModel(file)
    const engine = await openEngine({ threads: 1, precision })
    const model = await engine.loadModel(file)
    const lengths = [8, 24, 16, 40]
    const growth = await runSteps({ engine, model, steps: 200, warmUp: 20, lengths })
    expect(growth.lastLoss).toBeGreaterThan(0)
    expect(growth.handles).toBeGreaterThan(0)
    expect(growth.laterHandles).toEqual([growth.handles])
    expect(growth.heapBytes).toBeLessThan(mostHeapGrowth)
    expect(growth.nativeBytes).toBeLessThan(mostNativeGrowth)
    await model[Symbol.asyncDispose]()
    await engine[Symbol.asyncDispose]()
    expect(engine.liveHandles()).toBe(0)
  },
)
