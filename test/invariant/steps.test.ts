// 200 training steps on the default model, in the soak: memory stays where it was and no native object is left over.
// The tiny model's are in app/main/engine/steps.native.test.ts.
import { expect, it } from 'vitest'
import { openEngine } from '../../app/main/engine/index.ts'
import { defaultModelPath } from '../support/model.ts'
import { runSteps } from '../support/step-loop.ts'

const modelPath = defaultModelPath()
const minute = 60_000

/** The kept values of the longest sequence are about 22 MB: 180 of them left over would be 4 GB. */
const mostNativeGrowth = 128 * 2 ** 20
const mostHeapGrowth = 16 * 2 ** 20

it(
  '200 steps on the default model leave no native object and no memory behind',
  async ({ skip }) => {
    if (process.env['HONE_SOAK'] !== '1') return skip('200 steps take minutes: `npm run soak`')
    if (modelPath === null) return skip('the default model is not here')
    const engine = await openEngine({ threads: 2, precision: 'native' })
    const model = await engine.loadModel(modelPath)
    const lengths = [16, 32, 24]
    const growth = await runSteps({ engine, model, steps: 200, warmUp: 20, lengths })
    console.log(growth)
    expect(growth.lastLoss).toBeGreaterThan(0)
    expect(growth.laterHandles).toEqual([growth.handles])
    expect(growth.heapBytes).toBeLessThan(mostHeapGrowth)
    expect(growth.nativeBytes).toBeLessThan(mostNativeGrowth)
    await model[Symbol.asyncDispose]()
    await engine[Symbol.asyncDispose]()
    expect(engine.liveHandles()).toBe(0)
  },
  30 * minute,
)
