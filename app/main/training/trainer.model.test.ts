// The trainer on the default model, with samples that the real server produced.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defaultModelPath } from '../../../test/support/model.ts'
import { demonstrationSample, trainingConfig, turnSample } from '../../../test/support/samples.ts'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import type { TemporaryFolder } from '../../../test/support/temporary-folder.ts'
import type { TrainEvent, TrainRequest } from '../../shared/contract/trainer.ts'
import type { Exchange, RunReport, Sample, TrainingConfig } from '../../shared/domain/training.ts'
import { openPolicy } from '../policy/index.ts'
import type { Trainer } from './index.ts'
import { createTrainer } from './index.ts'

const modelPath = defaultModelPath()
const instruction = 'Please answer in at most 40 words.'

interface Material {
  readonly rejected: Sample
  readonly demonstration: Sample
  readonly anchors: readonly Exchange[]
}

/** One rejected reply with its hint, one short reply as a demonstration, two neutral exchanges; from the real server. */
async function serveMaterial(path: string): Promise<Material> {
  await using policy = await openPolicy({
    modelPath: path,
    device: 'cpu',
    threads: 1,
    contextSize: 1024,
  })
  const promptOf = (text: string) => policy.render([{ role: 'user', text }], { reserve: 256 }).ids
  const generate = (promptIds: readonly number[], seed: number) =>
    policy.generate({
      lane: 'evaluate',
      promptIds,
      adapter: { version: 0, path: null },
      temperature: 0.6,
      topP: 1,
      topK: 0,
      minP: 0,
      seed,
      maxTokens: 64,
    })
  const hinted = (text: string) =>
    promptOf(`${text}\n\n[user's hint / instruction]\n${instruction}`)
  const question = 'Explain what gravity is.'
  const bare = [...promptOf(question)]
  const reply = await generate(bare, 1)
  const short = await generate(hinted(question), 2)
  const neutral = [...promptOf('Name three colours.')]
  const colours = await generate(neutral, 3)
  return {
    rejected: turnSample({
      id: 'rejected',
      promptIds: bare,
      responseIds: [...reply.ids],
      samplerLogProbs: reply.logProbs === null ? null : [...reply.logProbs],
      hints: [{ hintId: 'brief', text: instruction, promptIds: [...hinted(question)] }],
    }),
    demonstration: demonstrationSample({ promptIds: bare, responseIds: [...short.ids] }),
    anchors: [{ promptIds: neutral, responseIds: [...colours.ids] }],
  }
}

describe.skipIf(modelPath === null)('trainer on the default model (skipped: no model file)', () => {
  const path = modelPath ?? ''
  let folder: TemporaryFolder
  let material: Material
  let trainer: Trainer

  beforeAll(async () => {
    folder = await temporaryFolder()
    material = await serveMaterial(path)
    trainer = createTrainer({
      engineOptions: { threads: 1 },
      yieldPoint: () => Promise.resolve({ threads: 1 }),
    })
    await trainer.load({ modelPath: path })
  })
  afterAll(async () => {
    await trainer[Symbol.asyncDispose]()
    await folder[Symbol.asyncDispose]()
  })

  async function train(change: Partial<TrainRequest>, config: Partial<TrainingConfig> = {}) {
    const request: TrainRequest = {
      config: trainingConfig({ anchorsPerStep: 1, ...config }),
      samples: [material.rejected, material.demonstration],
      anchors: [...material.anchors],
      endId: null,
      parentPath: null,
      parentStatePath: null,
      versionPaths: {},
      adapterPath: join(folder.path, 'v1.gguf'),
      statePath: join(folder.path, 'v1.state'),
      medianGradientNorm: null,
      ...change,
    }
    const events: TrainEvent[] = []
    for await (const event of trainer.train(request)) events.push(event)
    const report = events.flatMap((event) => (event.kind === 'done' ? [event.report] : []))[0]
    if (report === undefined) throw new Error('the run ended without a report')
    return { report: report satisfies RunReport, events }
  }

  it('learns from one correction and one demonstration, and the versions can be told apart', async () => {
    const { report, events } = await train({}, { passes: 3 })
    expect(report).toMatchObject({ kind: 'trained', excluded: [] })
    expect(report.usedSampleIds.sort()).toEqual(['demonstration', 'rejected'])

    const demo = report.steps.map((step) => step.lossDemo ?? NaN)
    expect(demo.at(-1)).toBeLessThan((demo[0] ?? NaN) - 0.05)
    // Serving and training run the same numbers, up to the server's noise on 4-bit weights.
    expect(Math.abs(report.steps[0]?.logProbGap ?? NaN)).toBeLessThan(0.1)
    expect(report.steps[0]?.lossAnchor).toBeCloseTo(0, 4)

    const overlaps = events.flatMap((event) => (event.kind === 'overlap' ? [event.overlap] : []))
    expect(overlaps).toHaveLength(1)
    const counts = overlaps[0]?.hints[0]?.overlap ?? []
    expect(counts).toHaveLength(material.rejected.responseIds.length)
    expect(counts.every((count) => count >= 0 && count <= 4)).toBe(true)
    const meanCount = counts.reduce((sum, count) => sum + count, 0) / counts.length
    expect(meanCount).toBeGreaterThan(1)
    expect(meanCount).toBeLessThan(4)

    const adapterPath = join(folder.path, 'v1.gguf')
    expect((await stat(adapterPath)).size).toBeGreaterThan(1e6)
    const exchanges = [...material.anchors]
    const { kl } = await trainer.drift({ adapterPath, exchanges })
    expect(kl[0]).toBeGreaterThan(0)
    expect(kl[0]).toBeLessThan(0.3)

    const probe = await trainer.probe({ oldPath: null, newPath: adapterPath, exchanges })
    expect(probe.kl).toBeGreaterThanOrEqual(kl[0] ?? NaN)
    expect(probe.tokenIds.length).toBeGreaterThanOrEqual(20)
    const mass = (values: number[]) => values.reduce((sum, value) => sum + Math.exp(value), 0)
    expect(mass(probe.oldLogProbs)).toBeGreaterThan(0.5)
    expect(mass(probe.oldLogProbs)).toBeLessThanOrEqual(1.0001)
    expect(probe.oldLogProbs).not.toEqual(probe.newLogProbs)
  })

  it('goes on from a version and its state', async () => {
    const change = {
      samples: [material.demonstration],
      parentPath: join(folder.path, 'v1.gguf'),
      parentStatePath: join(folder.path, 'v1.state'),
      adapterPath: join(folder.path, 'v2.gguf'),
      statePath: join(folder.path, 'v2.state'),
    }
    const { report } = await train(change, { passes: 2 })
    expect(report.kind).toBe('trained')
    const [first, second] = report.steps.map((step) => step.lossDemo ?? NaN)
    expect(second).toBeLessThan(first ?? NaN)
  })

  it('frees the model and loads it again when it is needed', async () => {
    expect(await trainer.unload()).toEqual({ unloaded: true })
    expect(await trainer.unload()).toEqual({ unloaded: false })
    const drift = await trainer.drift({
      adapterPath: join(folder.path, 'v1.gguf'),
      exchanges: [...material.anchors],
    })
    expect(drift.kl[0]).toBeGreaterThan(0)
  })
})
