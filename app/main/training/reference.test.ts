// The whole path from scores to loss and gradient against what PyTorch's autograd recorded
// (test/fixtures/numerics/make_training_reference.py).
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { demonstrationSample, trainingConfig, turnSample } from '../../../test/support/samples.ts'
import { createTableModel, logProbRows } from '../../../test/support/table-model.ts'
import type { Sample, TrainingConfig } from '../../shared/domain/training.ts'
import { selectBatch } from './batch.ts'
import type { SampleTargets } from './losses/sample.ts'
import { sampleLoss } from './losses/sample.ts'
import { valueLoss } from './losses/value.ts'
import { lossSettings } from './step.ts'
import { scoreBase, scoreStudents } from './students.ts'
import { prepareDemonstration, prepareTurn } from './targets.ts'
import { createValueHead } from './value-head.ts'

const rewardSchema = z.union([z.literal(-1), z.literal(1)])
const caseSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('policy'), reward: rewardSchema }),
  z.object({
    kind: z.literal('hybrid'),
    support: z.enum(['student', 'teacher', 'overlap', 'union']),
    selection: z.enum(['sequence', 'token', 'shortest', 'longest']),
    chosen: z.array(z.number()),
  }),
  z.object({ kind: z.literal('token') }),
  z.object({ kind: z.literal('demonstration') }),
  z.object({
    kind: z.literal('combined'),
    reward: rewardSchema.nullable(),
    hinted: z.boolean(),
  }),
  z.object({ kind: z.literal('penalty') }),
  z.object({
    kind: z.literal('ppo'),
    reward: rewardSchema,
    returns: z.array(z.number()),
    valueLoss: z.number(),
    valueGradient: z.array(z.number()),
  }),
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
  baseLogits: z.array(z.number()),
  hidden: z.array(z.number()),
  valueWeights: z.array(z.number()),
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
  baseLogits: new Map([[barePrompt, reference.baseLogits]]),
  hidden: reference.hidden,
})

/** A head with the recorded weights and an optimiser that has not stepped. */
function recordedHead() {
  const width = reference.valueWeights.length - 1
  const weights = Float32Array.from(reference.valueWeights)
  const fresh = createValueHead(width).serialise().subarray(weights.byteLength)
  return createValueHead(width, Buffer.concat([Buffer.from(weights.buffer), fresh]))
}

async function prepare(sample: Sample, config: TrainingConfig) {
  const [item] = selectBatch({ samples: [sample], config, vocabulary, limit: 64 }).items
  if (item === undefined) throw new Error('the sample was excluded')
  const yieldPoint = () => Promise.resolve({ threads: 1 })
  const options = { model, config, adapter: model.createAdapter(config), yieldPoint }
  const student = (await scoreStudents([item], options)).get(item)
  if (student === undefined) return prepareDemonstration(item)
  const isPenalised = lossSettings(config, 1).weightKl > 0
  const base = isPenalised ? (await scoreBase([item], options)).get(item) : undefined
  const own = { student, base: base ?? null, valueHead: recordedHead() }
  return prepareTurn(item, { ...options, ...own, random: () => 0, trusted: true })
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
  return (gathered: Float32Array) => sampleLoss(gathered, targets, lossSettings(config, 1))
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

/** The configuration and the sample that a recorded case is about. */
function caseOf(recorded: z.infer<typeof caseSchema>): {
  readonly config: TrainingConfig
  readonly sample: Sample
} {
  const rewarded = (reward: Sample['reward'], given = hints) =>
    turnSample({ ...turn, reward, hints: given })
  const firstHint = hints.slice(0, 1)
  switch (recorded.kind) {
    case 'policy':
      return { config: base, sample: rewarded(recorded.reward, []) }
    case 'hybrid': {
      const { support, selection } = recorded
      return { config: { ...base, support, selection }, sample: rewarded(-1) }
    }
    case 'token':
      return { config: { ...base, method: 'opd-token' }, sample: rewarded(-1, firstHint) }
    case 'demonstration':
      return { config: base, sample: demonstrationSample({ ...turn, temperature: 0.3 }) }
    case 'combined': {
      const given = recorded.hinted ? firstHint : []
      return { config: { ...base, method: 'combined' }, sample: rewarded(recorded.reward, given) }
    }
    case 'penalty':
      return { config: { ...base, klWeight: 0.5 }, sample: rewarded(1, []) }
    case 'ppo':
      return {
        config: { ...base, method: 'ppo-gae' },
        sample: rewarded(recorded.reward, firstHint),
      }
  }
}

describe('agreement with PyTorch', () => {
  it('covers every support and selection that can be compared, and both signs', () => {
    expect(reference.cases).toHaveLength(28)
    const chosen = reference.cases.flatMap((one) => (one.kind === 'hybrid' ? one.chosen : []))
    expect(new Set(chosen).size).toBe(3)
  })

  it.each(
    reference.cases.map((recorded) => [JSON.stringify(recorded).slice(0, 80), recorded] as const),
  )('%s', async (_, recorded) => {
    const { config, sample } = caseOf(recorded)
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

  it.each(reference.cases.flatMap((one) => (one.kind === 'ppo' ? [one] : [])))(
    'value head, reward $reward',
    async (recorded) => {
      const { config, sample } = caseOf(recorded)
      const { value } = await prepare(sample, config)
      const [width, R] = [reference.valueWeights.length - 1, reference.positions]
      expect(value?.hidden).toEqual(Float32Array.from(reference.hidden))
      recorded.returns.forEach((expected, t) => expect(value?.returns[t]).toBeCloseTo(expected, 5))
      const states = Float32Array.from({ length: R * width }, (_, index) => {
        const first = index - (index % width)
        const row = reference.hidden.slice(first, first + width)
        return (reference.hidden[index] ?? NaN) / Math.hypot(...row)
      })
      const weights = Float32Array.from(reference.valueWeights)
      const { loss, gradient } = valueLoss(states, recorded.returns, {
        w: weights.subarray(0, width),
        b: weights.subarray(width),
      })
      const flat = [...gradient.w, ...gradient.b]
      expectAgreement(
        { loss, gradient: flat },
        {
          loss: recorded.valueLoss,
          gradient: recorded.valueGradient,
        },
      )
    },
  )
})
