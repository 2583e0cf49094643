// The whole path from scores to loss and gradient against what PyTorch's autograd recorded
// (test/fixtures/numerics/make_training_reference.py).
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { demonstrationSample, trainingConfig, turnSample } from '../../../test/support/samples.ts'
import { createTableModel, logProbRows } from '../../../test/support/table-model.ts'
import type { Sample, TrainingConfig } from '../../shared/domain/training.ts'
import { selectBatch } from './batch.ts'
import { policyGradientLoss, teacherAdvantages } from './losses/policy-gradient.ts'
import type { SampleTargets } from './losses/sample.ts'
import { sampleLoss } from './losses/sample.ts'
import { prepareItem } from './targets.ts'

const caseSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('policy'), reward: z.union([z.literal(-1), z.literal(1)]) }),
  z.object({
    kind: z.literal('hybrid'),
    support: z.enum(['student', 'teacher', 'overlap', 'union']),
    selection: z.enum(['sequence', 'token', 'shortest', 'longest']),
    chosen: z.array(z.number()),
  }),
  z.object({ kind: z.literal('token') }),
  z.object({ kind: z.literal('demonstration') }),
])
const resultSchema = z.object({ loss: z.number(), gradient: z.array(z.number()) })
const documentSchema = z.object({
  positions: z.number(),
  vocabulary: z.number(),
  topK: z.number(),
  temperature: z.number(),
  hintTexts: z.array(z.string()),
  sampled: z.array(z.number()),
  samplerLogProbs: z.array(z.number()),
  oldLogits: z.array(z.number()),
  logits: z.array(z.number()),
  teacherLogits: z.array(z.array(z.number())),
  cases: z.array(z.intersection(caseSchema, resultSchema)),
})

const file = new URL('../../../test/fixtures/numerics/training-reference.json', import.meta.url)
const reference = documentSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
const { vocabulary, temperature, sampled } = reference
const barePrompt = 0
const hints = reference.hintTexts.map((text, index) => ({
  hintId: `${index}`,
  text,
  promptIds: [index + 1],
}))
const model = createTableModel({
  vocabulary,
  logits: new Map([
    [barePrompt, reference.oldLogits],
    ...reference.teacherLogits.map((logits, index) => [index + 1, logits] as const),
  ]),
})

async function prepare(sample: Sample, config: TrainingConfig) {
  const [item] = selectBatch({ samples: [sample], config, vocabulary, limit: 64 }).items
  if (item === undefined) throw new Error('the sample was excluded')
  return prepareItem(item, {
    model,
    config,
    adapter: model.createAdapter(config),
    yieldPoint: () => Promise.resolve({ threads: 1 }),
    random: () => 0,
    trusted: true,
  })
}

/** Loss of the moved student, with the gradient carried through log-softmax(logits / T) to the logits. */
function throughSoftmax(options: {
  readonly gatherIds: Int32Array
  readonly temperature: number
  readonly lossOf: (gathered: Float32Array) => { loss: number; gradient: Float32Array }
}) {
  const rows = logProbRows(reference.logits, { vocabulary, temperature: options.temperature })
  const columns = options.gatherIds.length / rows.length
  const rowOf = (index: number) => Math.floor(index / columns)
  const gathered = Float32Array.from(options.gatherIds, (id, i) => rows[rowOf(i)]?.[id] ?? NaN)
  const { loss, gradient } = options.lossOf(gathered)
  const dLogits = rows.map((row, t) =>
    row.map((logProb, v) => {
      let sum = 0
      for (let column = 0; column < columns; column++) {
        const index = t * columns + column
        const hit = options.gatherIds[index] === v ? 1 : 0
        sum += ((gradient[index] ?? NaN) * (hit - Math.exp(logProb))) / options.temperature
      }
      return sum
    }),
  )
  return { loss, gradient: dLogits.flat() }
}

function lossOfTargets(targets: SampleTargets, config: TrainingConfig) {
  const clip = { low: config.clipLow, high: config.clipHigh }
  return (gathered: Float32Array) => sampleLoss(gathered, targets, { ...config, clip, share: 1 })
}

function expectAgreement(
  ours: { readonly loss: number; readonly gradient: readonly number[] },
  recorded: z.infer<typeof resultSchema>,
) {
  const norm = (values: readonly number[]) => Math.hypot(...values)
  const difference = norm(ours.gradient.map((value, i) => value - (recorded.gradient[i] ?? NaN)))
  expect(Math.abs(ours.loss - recorded.loss)).toBeLessThan(1e-5)
  expect(difference / norm(recorded.gradient)).toBeLessThan(1e-5)
}

const turn: Partial<Sample> = {
  promptIds: [barePrompt],
  responseIds: sampled,
  samplerLogProbs: reference.samplerLogProbs,
  temperature,
}
const base = trainingConfig({ topK: reference.topK })

describe('agreement with PyTorch', () => {
  it('covers every support and selection that can be compared, and both signs', () => {
    expect(reference.cases).toHaveLength(20)
    const chosen = reference.cases.flatMap((one) => (one.kind === 'hybrid' ? one.chosen : []))
    expect(new Set(chosen).size).toBe(3)
  })

  it.each(
    reference.cases.map((recorded) => [JSON.stringify(recorded).slice(0, 80), recorded] as const),
  )('%s', async (_, recorded) => {
    if (recorded.kind === 'token') {
      const old = logProbRows(reference.oldLogits, { vocabulary, temperature })
      const first = logProbRows(reference.teacherLogits[0] ?? [], { vocabulary, temperature })
      const pick = (rows: number[][]) => sampled.map((id, t) => rows[t]?.[id] ?? NaN)
      const oldLogProbs = pick(old)
      const clip = { low: base.clipLow, high: base.clipHigh }
      const { differenceClip } = base
      const advantages = teacherAdvantages({
        teacherLogProbs: pick(first),
        oldLogProbs,
        differenceClip,
      })
      const importance = sampled.map(() => 1)
      const lossOf = (logProbs: Float32Array) =>
        policyGradientLoss({ logProbs, oldLogProbs, importance, advantages, clip })
      const gatherIds = Int32Array.from(sampled)
      return expectAgreement(throughSoftmax({ gatherIds, temperature, lossOf }), recorded)
    }
    const config =
      recorded.kind === 'hybrid'
        ? { ...base, support: recorded.support, selection: recorded.selection }
        : base
    const sample = {
      policy: () =>
        turnSample({ ...turn, reward: recorded.kind === 'policy' ? recorded.reward : null }),
      hybrid: () => turnSample({ ...turn, reward: -1, hints }),
      demonstration: () => demonstrationSample({ ...turn, temperature: 0.3 }),
    }[recorded.kind]()
    const prepared = await prepare(sample, config)
    const { targets, item } = prepared
    if (recorded.kind === 'hybrid') {
      // Hints arrive sorted by length here and as written there.
      const ids = prepared.overlap?.chosen.map((hint) => prepared.overlap?.hints[hint]?.hintId)
      expect(ids).toEqual(recorded.chosen.map(String))
    }
    const ours = throughSoftmax({
      gatherIds: targets.gatherIds,
      temperature: item.temperature,
      lossOf: lossOfTargets(targets, config),
    })
    expectAgreement(ours, recorded)
  })
})
