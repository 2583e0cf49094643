import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it } from 'vitest'
import { Runtime } from '../ffi/index.ts'
import { LlamaModel } from '../nn/model.ts'
import { seededRandom } from '../random.ts'
import type { AdapterGradients, EngineModel } from '../types.ts'
import { compareWithCpu, judge } from './compare.ts'
import { scaleGradients } from './scaled-model.ts'
import { writeTestModel } from './test-model.ts'

const threads = 1

/** What Metal lacks, and more. */
const missing = [
  'OUT_PROD',
  'RMS_NORM_BACK',
  'SOFT_MAX_BACK',
  'DIAG_MASK_INF',
  'ROPE_BACK',
  'SILU_BACK',
]

it.each([
  ['nothing', []],
  ['what Metal lacks', missing],
  ['that and what nothing replaces', [...missing, 'SWIGLU', 'ARGMAX', 'ADD']],
])('a device without %s gives what the CPU gives', async (_, list) => {
  using cpu = new Runtime({ threads })
  using device = new Runtime({
    threads,
    pretend: { device: 'metal', missing: list, alignment: 256, maxBufferBytes: 2 ** 18 },
  })
  const differences = await compareWithCpu(device, cpu, { threads })
  expect(differences.logProbs).toBeLessThan(1e-6)
  expect(differences.gradients).toBeLessThan(1e-5)
  expect(judge(differences)).toBeNull()
})

it.each(['ggml_scale', 'ggml_soft_max_ext_back', 'ggml_rope_ext'] as const)(
  'a device whose %s is off is refused with the figures',
  async (name) => {
    using cpu = new Runtime({ threads })
    using device = new Runtime({ threads })
    spoil(device, name)
    const trouble = judge(await compareWithCpu(device, cpu, { threads }))
    expect(trouble).toMatch(/^its results differ from the CPU's: .*%/)
  },
)

it('numbers that are none are refused', () => {
  expect(judge({ logProbs: Infinity, gradients: 0 })).toContain('log-probabilities by more than')
  expect(judge({ logProbs: 0, gradients: 1.1e-2 })).toContain('gradients by 1.1%')
})

/** Makes one operator compute with a factor that is 5% too large: scale and softmax's, or the base of rotation. */
function spoil(runtime: Runtime, name: 'ggml_scale' | 'ggml_soft_max_ext_back' | 'ggml_rope_ext') {
  const position = { ggml_scale: 2, ggml_soft_max_ext_back: 3, ggml_rope_ext: 7 }[name]
  const original = runtime.functions[name] as (...args: unknown[]) => unknown
  const functions = {
    ...runtime.functions,
    [name]: (...args: unknown[]) => {
      args[position] = (args[position] as number) * 1.05
      return original(...args)
    },
  }
  Object.defineProperty(runtime, 'functions', { value: functions })
}

it('scaled gradients are the plain ones to the bit', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'hone-scaled-'))
  try {
    const file = path.join(folder, 'test.gguf')
    await writeTestModel(file, seededRandom(1))
    using runtime = new Runtime({ threads })
    const host = {
      runtime,
      kernels: null,
      threads: () => threads,
      keptBytes: 0,
      availableBytes: () => runtime.freeBytes(),
      onDispose: () => undefined,
    }
    await using plain = new LlamaModel(host, file)
    const expected = await smallGradients(plain)
    const found = await smallGradients(scaleGradients(plain))
    expect(bytesOf(found).equals(bytesOf(expected))).toBe(true)
    expect(found.tensors[0]?.b.some((value) => value !== 0)).toBe(true)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

async function smallGradients(model: EngineModel): Promise<AdapterGradients> {
  const adapter = model.createAdapter({ rank: 4, alpha: 8, seed: 2 })
  const gradients = model.createGradients(adapter)
  const tokens = Int32Array.from({ length: 40 }, (_, t) => (11 * t) % 250)
  const request = { tokens, responseStart: 20, temperature: 1, adapter, gradients }
  const loss = (logProbs: Float32Array) => ({ loss: 0, gradient: logProbs.map(() => 3e-5) })
  await model.backward({ ...request, gatherIds: tokens.subarray(20), loss })
  const baseHidden = await model.hidden({ ...request, adapter: null })
  adapter.tensors.forEach(({ b }) => b.fill(0.01))
  adapter.revision += 1
  await model.klBackward({ ...request, baseHidden, weight: 1e-3 })
  return gradients
}

function bytesOf({ tensors }: AdapterGradients): Buffer {
  return Buffer.concat(
    tensors.flatMap(({ a, b }) => [Buffer.from(a.buffer), Buffer.from(b.buffer)]),
  )
}
