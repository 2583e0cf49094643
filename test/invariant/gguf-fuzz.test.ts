// Broken GGUF files: whatever the bytes, the reader, the model's checks and the adapter's answer with a value or a
// named refusal, and with no more memory than the file could need. 10,000 files here, a million in the soak;
// HONE_FUZZ_INPUTS sets another number, HONE_FUZZ_FIRST where to begin (to see one failure again).
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { fileSource, memorySource } from '../../app/main/engine/gguf/source.ts'
import { parseGguf } from '../../app/main/engine/gguf/reader.ts'
import type { ByteSource } from '../../app/main/engine/gguf/source.ts'
import { checkGguf } from '../../app/main/policy/gguf-check.ts'
import { toAppError } from '../../app/shared/errors.ts'
import { createRandom } from '../../eval/random.ts'
import { mutated } from '../support/gguf-fuzz/mutations.ts'
import { readAll, type Outcomes } from '../support/gguf-fuzz/read-all.ts'
import { fuzzSeeds } from '../support/gguf-fuzz/seeds.ts'
import { segmentsOf } from '../support/gguf-fuzz/segments.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const isSoak = process.env['HONE_SOAK'] === '1'
const inputs = Number(process.env['HONE_FUZZ_INPUTS'] ?? (isSoak ? 1_000_000 : 10_000))
const first = Number(process.env['HONE_FUZZ_FIRST'] ?? 0)
const minute = 60_000

/** The runner must hear of this file now and then. */
const inputsAtOnce = 500
/** Live memory may grow by this much over the run, whatever its length: compiled code and counters. */
const heapGrowthBytes = 32 * 2 ** 20

const seeds = fuzzSeeds().map(({ isLarge, bytes }) => ({ isLarge, segments: segmentsOf(bytes) }))
const small = seeds.filter(({ isLarge }) => !isLarge)
const large = seeds.find(({ isLarge }) => isLarge)

/** Input number `index`; the same on every machine. */
function inputOf(index: number): Uint8Array {
  const random = createRandom(Math.imul(index + 1, 0x9e3779b1))
  // The large file is a thousand times as slow as a small one.
  const seed = index % 200 === 0 ? large : small[index % small.length]
  if (seed === undefined) throw new Error('a seed is missing')
  return mutated(seed.segments, random)
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
}

function liveBytes(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function outcomesOf(index: number): Outcomes {
  const bytes = inputOf(index)
  try {
    return readAll(bytes)
  } catch (cause) {
    const what = `input ${index} of ${bytes.byteLength} bytes (HONE_FUZZ_FIRST=${index})`
    throw new Error(`${what}: ${String(cause)}`, { cause })
  }
}

it(
  `${inputs} broken files each give a value or a named refusal, in memory of their own size`,
  async () => {
    const tally = new Map<string, number>()
    const count = (what: string): void => void tally.set(what, (tally.get(what) ?? 0) + 1)
    for (let index = 0; index < 300; index += 1) outcomesOf(index)
    const before = liveBytes()
    for (let done = 0; done < inputs; done += 1) {
      const outcomes = outcomesOf(first + done)
      count(`parse ${outcomes.parse}`)
      if (outcomes.model !== null) count(`model ${outcomes.model}`)
      if (outcomes.adapter !== null) count(`adapter ${outcomes.adapter}`)
      for (const outcome of outcomes.arrays) count(`array ${outcome}`)
      if (done % inputsAtOnce === 0) await setImmediate()
    }
    expect(liveBytes() - before).toBeLessThan(heapGrowthBytes)
    console.log(Object.fromEntries([...tally].sort()))
    // Mutations that never pass one stage would leave the next untested.
    if (inputs < 1000) return
    for (const stage of ['parse', 'model', 'adapter', 'array']) {
      expect(tally.get(`${stage} value`) ?? 0, `${stage} succeeded`).toBeGreaterThan(inputs / 200)
      const refusals =
        (tally.get(`${stage} corrupt`) ?? 0) + (tally.get(`${stage} unsupported`) ?? 0)
      expect(refusals, `${stage} refused`).toBeGreaterThan(inputs / 1000)
    }
  },
  60 * minute,
)

it('a file on the disk gives what the same bytes give in memory; the check before serving is named too', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'broken.gguf')
  const answer = (source: ByteSource): unknown => {
    try {
      return parseGguf(source)
    } catch (error) {
      return toAppError(error).message
    }
  }
  const refusals = new Set<string>()
  for (let index = 0; index < Math.min(5000, inputs / 10); index += 1) {
    const bytes = inputOf(first + index)
    writeFileSync(path, bytes)
    using source = fileSource(path)
    expect(answer(source)).toEqual(answer(memorySource(bytes)))
    await checkGguf(path).catch((error: unknown) => refusals.add(toAppError(error).code))
  }
  expect([...refusals].sort()).toEqual(['corrupt', 'unsupported'])
})
