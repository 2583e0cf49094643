import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  createReferenceModel,
  writeReferenceAdapter,
} from '../../../test/support/reference-model.ts'
import { demonstrationSample, trainingConfig, turnSample } from '../../../test/support/samples.ts'
import { temporaryFolder } from '../../../test/support/temporary-folder.ts'
import type { TrainEvent, TrainRequest } from '../../shared/contract/trainer.ts'
import type { Exchange, Sample, TrainingConfig } from '../../shared/domain/training.ts'
import { AppError } from '../../shared/errors.ts'
import type { Adapter } from '../engine/index.ts'
import { adamw } from '../engine/index.ts'
import { anchorSettings, exchangeTokens } from './anchors.ts'
import { readState, writeCheckpoint } from './checkpoint.ts'
import type { Run } from './recipe.ts'
import { runRecipe } from './recipe.ts'
import { median, refuseStep, scheduledRate } from './step.ts'
import { createValueHead } from './value-head.ts'

const vocabulary = 24
const model = createReferenceModel({ vocabulary })
const hints = [
  { hintId: 'short', text: 'be brief', promptIds: [1, 2, 3, 9] },
  { hintId: 'long', text: 'use plain sentences', promptIds: [1, 2, 3, 11, 12] },
]
const anchors: Exchange[] = [
  { promptIds: [5, 6], responseIds: [7, 8, 9] },
  { promptIds: [9, 1], responseIds: [2, 2] },
  { promptIds: [3], responseIds: [4, 14, 15, 16] },
]

function request(change: {
  readonly samples: TrainRequest['samples']
  readonly config?: Partial<TrainingConfig>
  readonly medianGradientNorm?: number
  readonly endId?: number
  readonly parentPath?: string
  readonly versionPaths?: Record<string, string>
}): TrainRequest {
  return {
    config: trainingConfig({ rank: 2, alpha: 4, anchorsPerStep: 2, ...change.config }),
    samples: change.samples,
    anchors,
    endId: change.endId ?? null,
    parentPath: change.parentPath ?? null,
    parentStatePath: null,
    versionPaths: change.versionPaths ?? {},
    adapterPath: 'unused',
    statePath: 'unused',
    medianGradientNorm: change.medianGradientNorm ?? null,
  }
}

/** Runs the recipe on the reference model and collects what it emits and whether it wrote. */
async function train(change: Parameters<typeof request>[0], run: Partial<Run> = {}) {
  const asked = request(change)
  const adapter = run.adapter ?? model.createAdapter(asked.config)
  const events: TrainEvent[] = []
  let writes = 0
  const optimiser = run.optimiser ?? adamw(adapter)
  const report = await runRecipe({
    model,
    request: asked,
    adapter,
    optimiser,
    valueHead: createValueHead(model.info.width),
    adapterOfVersion: (version) => Promise.resolve(version === 0 ? null : 'missing'),
    base: {
      hidden: (exchange) =>
        model.hidden({ ...exchangeTokens(exchange), temperature: 1, adapter: null }),
      logProbs: async (exchange, id) => {
        const gatherIds = new Int32Array(exchange.responseIds.length).fill(id)
        const asked = { ...exchangeTokens(exchange), temperature: 1, adapter: null, gatherIds }
        return (await model.score(asked)).gathered
      },
    },
    write: () => {
      writes++
      return Promise.resolve()
    },
    emit: (event) => events.push(event),
    yieldPoint: () => Promise.resolve({ threads: 1 }),
    ...run,
  })
  return { report, events, adapter, optimiser, writes }
}

async function served(temperature = 0.6, promptIds = [1, 2, 3]): Promise<number[]> {
  const tokens = Int32Array.from([...promptIds, 4, 5, 6])
  const responseStart = promptIds.length
  const score = await model.score({ tokens, responseStart, temperature, adapter: null })
  return [...score.sampled]
}

const numbersOf = (adapter: Adapter) => adapter.tensors.flatMap(({ a, b }) => [...a, ...b])
const demos = (count: number) =>
  Array.from({ length: count }, (_, i) =>
    demonstrationSample({
      id: `d${i}`,
      createdAt: i,
      promptIds: [1, 2, (i % 5) + 3],
      responseIds: [10, 20, 21],
    }),
  )

describe('learning', () => {
  it('lowers the loss of a demonstration pass by pass', async () => {
    const { report, writes } = await train({
      samples: demos(1),
      config: { passes: 6, learningRate: 0.02 },
    })
    const losses = report.steps.map((step) => step.lossDemo ?? NaN)
    expect(report.kind).toBe('trained')
    expect(losses).toEqual([...losses].sort((x, y) => y - x))
    expect(losses.at(-1)).toBeLessThan((losses[0] ?? NaN) - 0.2)
    expect(writes).toBe(1)
    expect(report.steps[0]?.lossRl).toBeNull()
  })

  it('makes a rejected reply less likely and an accepted one likelier', async () => {
    for (const reward of [-1, 1] as const) {
      const samples = [turnSample({ reward })]
      const config = { passes: 2, learningRate: 0.01, anchorsPerStep: 0 }
      const { adapter } = await train({ samples, config })
      const tokens = Int32Array.from([1, 2, 3, 4, 5, 6])
      const after = await model.score({ tokens, responseStart: 3, temperature: 0.6, adapter })
      const before = await served()
      const change = after.sampled.reduce((sum, value, t) => sum + value - (before[t] ?? NaN), 0)
      expect(change * reward).toBeGreaterThan(0.01)
    }
  })

  it('moves the student toward what the hinted teacher finds likelier', async () => {
    const samples = [turnSample({ reward: null, hints: hints.slice(0, 1) })]
    const config = { passes: 1, learningRate: 0.01, anchorsPerStep: 0, topK: 4 }
    const { adapter, events } = await train({ samples, config })
    const [overlap] = events.flatMap((event) => (event.kind === 'overlap' ? [event.overlap] : []))
    const gatherIds = Int32Array.from(overlap?.student.flatMap(({ ids }) => ids) ?? [])
    const at = (prompt: number[], from: Adapter | null) =>
      model.score({
        tokens: Int32Array.from([...prompt, 4, 5, 6]),
        responseStart: prompt.length,
        temperature: 0.6,
        adapter: from,
        gatherIds,
      })
    const old = (await at([1, 2, 3], null)).gathered
    const teacher = (await at([1, 2, 3, 9], null)).gathered
    const now = (await at([1, 2, 3], adapter)).gathered
    // Correlation of what was wanted with what happened, weighed as the loss weighs it.
    const moved = old.reduce((sum, value, i) => {
      const wanted = Math.min(Math.max((teacher[i] ?? 0) - value, -1), 1)
      return sum + Math.exp(value) * wanted * ((now[i] ?? 0) - value)
    }, 0)
    expect(moved).toBeGreaterThan(0)
  })

  it('holds the model to the base with the anchor', async () => {
    const config = { passes: 12, learningRate: 0.03, anchorsPerStep: 3 }
    const drift = async (weightAnchor: number) => {
      const { report } = await train({ samples: demos(1), config: { ...config, weightAnchor } })
      return report.steps.at(-1)?.lossAnchor ?? NaN
    }
    expect(await drift(5)).toBeLessThan((await drift(0.01)) / 2)
  })
})

describe('what takes part', () => {
  it.each(['student', 'teacher', 'overlap', 'union'] as const)(
    'runs support %s with every selection, both teachers, rewards and demonstrations',
    async (support) => {
      const samples = [turnSample({ hints, samplerLogProbs: await served() }), ...demos(1)]
      for (const selection of ['sequence', 'token', 'shortest', 'longest', 'random'] as const) {
        for (const teacher of ['base', 'active'] as const) {
          const { report, events } = await train({
            samples,
            config: { support, selection, teacher },
          })
          expect(report.kind).toBe('trained')
          expect(report.usedSampleIds).toEqual(['d0', 'turn'])
          const [step] = report.steps
          for (const part of [step?.lossRl, step?.lossOpd, step?.lossDemo, step?.lossAnchor]) {
            expect(part).toSatisfy(Number.isFinite)
          }
          expect(step?.outsideMass).toSatisfy((mass: number) => mass >= 0 && mass <= 1)
          expect(step?.loss).toBeCloseTo(
            ((step?.lossRl ?? NaN) + (step?.lossOpd ?? NaN) + (step?.lossDemo ?? NaN)) / 2 +
              (step?.lossAnchor ?? NaN),
            5,
          )
          expect(events.filter((event) => event.kind === 'overlap')).toHaveLength(1)
        }
      }
    },
  )

  it.each([
    ['hybrid', [true, true, true]],
    ['grpo', [true, false, false]],
    ['opd', [false, true, false]],
    ['opd-token', [false, true, false]],
    // One surrogate: reported as the reward's.
    ['combined', [true, false, true]],
    ['ppo-gae', [true, true, true]],
  ] as const)('runs method %s with the terms that it has', async (method, terms) => {
    const samples = [turnSample({ hints, samplerLogProbs: await served() }), ...demos(1)]
    const { report } = await train({ samples, config: { method } })
    expect(report.kind).toBe('trained')
    const [step] = report.steps
    const parts = [step?.lossRl, step?.lossOpd, step?.lossDemo]
    expect(parts.map((part) => part !== null)).toEqual(terms)
    expect(step?.outsideMass === null).toBe(method === 'grpo')
    // Three positions, four tokens each, or the sampled one alone.
    const counted = step?.differences?.counts.reduce((sum, count) => sum + count, 0)
    const onSampled = method === 'opd-token' || method === 'combined'
    expect(counted).toBe(method === 'grpo' ? undefined : onSampled ? 3 : 12)
    expect([step?.lossValue, step?.lossKl].map((part) => part !== null)).toEqual(
      Array(2).fill(method === 'ppo-gae'),
    )
  })

  it('charges for leaving the base where the penalty is asked for', async () => {
    const adapter = model.createAdapter({ rank: 2, alpha: 4, seed: 1 })
    adapter.tensors[0]?.b.fill(0.2)
    const config = { klWeight: 0.5, anchorsPerStep: 0, passes: 1, weightRl: 1e-9 }
    const { report } = await train({ samples: [turnSample({ reward: 1 })], config }, { adapter })
    const tokens = Int32Array.from([1, 2, 3, 4, 5, 6])
    const request = { tokens, responseStart: 3, temperature: 0.6 }
    const now = await model.score({ ...request, adapter: asItWas() })
    const base = await model.score({ ...request, adapter: null })
    const k3 = now.sampled.reduce((sum, value, t) => {
      const d = (base.sampled[t] ?? NaN) - value
      return sum + (Math.exp(d) - d - 1) / now.sampled.length
    }, 0)
    expect(k3).toBeGreaterThan(0.001)
    expect(report.steps[0]?.lossKl).toBeCloseTo(k3, 5)
    expect(report.steps[0]?.loss).toBeCloseTo(0.5 * k3, 5)

    function asItWas(): Adapter {
      const before = model.createAdapter({ rank: 2, alpha: 4, seed: 1 })
      before.tensors[0]?.b.fill(0.2)
      return before
    }
  })

  it('teaches its value head what the replies were worth', async () => {
    const valueHead = createValueHead(model.info.width)
    const config = { method: 'ppo-gae', passes: 3, anchorsPerStep: 0 } as const
    const first = await train({ samples: [turnSample({ reward: 1 })], config }, { valueHead })
    const losses = first.report.steps.map((step) => step.lossValue ?? NaN)
    expect(losses).toEqual([...losses].sort((x, y) => y - x))
    // The last token's reward fades by γλ a token, with nothing expected yet.
    const fade = 0.99 * 0.95
    const worth = [fade ** 2, fade, 1]
    const rl = -worth.reduce((sum, value) => sum + value, 0) / 3
    expect(first.report.steps[0]?.lossRl).toBeCloseTo(rl, 5)
    // The next run goes on with what it has learned to expect, so that the same reward surprises less.
    const second = await train({ samples: [turnSample({ reward: 1 })], config }, { valueHead })
    expect(second.report.steps[0]?.lossRl).toBeGreaterThan(rl)
    const other = await train({ samples: [turnSample({ reward: 1 })] }, { valueHead })
    expect(other.report.steps[0]?.lossValue).toBeNull()
  })

  it('asks the teacher that is set: the base, or the active policy as it was', async () => {
    const teacherOf = async (teacher: 'base' | 'active') => {
      const adapter = model.createAdapter({ rank: 2, alpha: 4, seed: 1 })
      adapter.tensors[0]?.b.fill(0.4)
      const samples = [turnSample({ reward: null, hints: hints.slice(0, 1) })]
      const { events } = await train({ samples, config: { teacher } }, { adapter })
      const found = events.find((event) => event.kind === 'overlap')
      return found?.overlap.hints[0]?.teacher.flatMap(({ logProbs }) => logProbs)
    }
    const expected = async (adapter: Adapter | null) => {
      const tokens = Int32Array.from([1, 2, 3, 9, 4, 5, 6])
      const request = { tokens, responseStart: 4, temperature: 0.6, topK: 4 }
      return [...(await model.score({ ...request, adapter })).topLogProbs]
    }
    const active = model.createAdapter({ rank: 2, alpha: 4, seed: 1 })
    active.tensors[0]?.b.fill(0.4)
    expect(await teacherOf('base')).toEqual(await expected(null))
    expect(await teacherOf('active')).toEqual(await expected(active))
    expect(await teacherOf('active')).not.toEqual(await teacherOf('base'))
  })

  it('lowers the rate along half a cosine where that is set', async () => {
    const config = { schedule: 'cosine', passes: 4, learningRate: 1e-3 } as const
    const { report } = await train({ samples: [turnSample()], config })
    report.steps.forEach(({ learningRate }, step) => {
      expect(learningRate).toBeCloseTo((1e-3 * (1 + Math.cos((Math.PI * step) / 4))) / 2, 12)
    })
    expect(report.steps.at(-1)?.learningRate).toBeLessThan(2e-4)
  })

  it('reports phases in order and one step event per update', async () => {
    const { report, events } = await train({ samples: [turnSample()] })
    const phases = events.flatMap((event) => (event.kind === 'phase' ? [event.phase] : []))
    expect(phases).toEqual(['guard', 'teacher', 'updating', 'writing'])
    const steps = events.flatMap((event) => (event.kind === 'step' ? [event.step] : []))
    expect(steps).toEqual(report.steps)
    expect(steps.map(({ step, steps: planned }) => [step, planned])).toEqual([
      [1, 2],
      [2, 2],
    ])
  })

  it('steps on equal rewards and on a reply of one token', async () => {
    const samples = [1, 2].map((i) => turnSample({ id: `${i}`, reward: 1, responseIds: [4] }))
    const { report } = await train({ samples })
    expect(report.kind).toBe('trained')
    expect(report.steps[0]?.gradientNorm).toBeGreaterThan(0)
  })

  it('counts a batch without a signal and writes nothing', async () => {
    const { report, writes, events } = await train({ samples: [turnSample({ reward: null })] })
    expect(report).toMatchObject({ kind: 'no-signal', steps: [], usedSampleIds: [] })
    expect(report.excluded[0]?.reason).toContain('no signal')
    expect([writes, events.length]).toEqual([0, 0])
  })

  it('goes on with demonstrations alone after the ordinary passes', async () => {
    const samples = [turnSample(), ...demos(2)]
    const config = { passes: 1, demonstrationPasses: 3, learningRate: 0.02 }
    const { report } = await train({ samples, config })
    expect(report.steps.map((step) => step.lossRl !== null)).toEqual([true, false, false, false])
    expect(report.steps.every((step) => step.lossDemo !== null)).toBe(true)
    expect(report.excluded).toEqual([])
  })

  it('stops further passes over few demonstrations once these are learned', async () => {
    const passes = async (learningRate: number) => {
      const config = { passes: 1, demonstrationPasses: 40, learningRate, weightAnchor: 0 }
      return (await train({ samples: demos(2), config })).report.steps
    }
    const learned = await passes(0.05)
    expect(learned.length).toBeLessThan(41)
    expect(learned.at(-1)?.lossDemo).toBeLessThan(0.05)
    expect(learned.at(-2)?.lossDemo).toBeGreaterThan(0.05)
    // Steps too small to take two percent off: the second further pass is not made.
    expect(await passes(1e-6)).toHaveLength(2)
  })

  it('sets two of many demonstrations aside and stops when their loss no longer falls', async () => {
    const passes = async (learningRate: number) => {
      const config = { passes: 1, demonstrationPasses: 8, learningRate, weightAnchor: 0 }
      return (await train({ samples: demos(8), config })).report
    }
    const calm = await passes(0.005)
    expect(calm.steps).toHaveLength(9)
    expect(calm.usedSampleIds).toHaveLength(6)
    expect(calm.excluded.map(({ reason }) => reason)).toEqual(
      Array(2).fill(expect.stringContaining('set aside')),
    )
    // Random replies have nothing in common: learning six of them does not help the other two for long.
    const noise = demos(8).map((demo, i) => ({
      ...demo,
      responseIds: [0, 1, 2].map((t) => (i * 7 + t * 11) % vocabulary),
    }))
    const config = { passes: 1, demonstrationPasses: 8, learningRate: 0.3, weightAnchor: 0 }
    expect((await train({ samples: noise, config })).report.steps.length).toBeLessThan(9)
  })
})

describe('guard', () => {
  it('refuses a sample whose served log-probabilities are off and reports the gap', async () => {
    const off = (await served()).map((value) => value + 0.4)
    const samples = [turnSample({ id: 'off', samplerLogProbs: off }), ...demos(1)]
    const { report } = await train({ samples })
    expect(report.usedSampleIds).toEqual(['d0'])
    expect(report.excluded).toEqual([
      { sampleId: 'off', reason: expect.stringContaining('differ by 0.400 nat') },
    ])
    expect(report.steps[0]?.logProbGap).toBeCloseTo(0.4, 5)
    const alone = await train({ samples: samples.slice(0, 1) })
    expect(alone.report).toMatchObject({ kind: 'refused', usedSampleIds: [] })
    expect(alone.writes).toBe(0)
  })

  it('re-scores on the prompt that was seen, not on the bare one', async () => {
    const seen = [1, 2, 3, 9]
    const scaffolded = turnSample({
      reward: null,
      hints: hints.slice(0, 1),
      sampledPromptIds: seen,
      samplerLogProbs: await served(0.6, seen),
    })
    const { report } = await train({ samples: [scaffolded] })
    expect(report).toMatchObject({ kind: 'trained', usedSampleIds: ['turn'] })
    expect(report.steps[0]?.logProbGap).toBeCloseTo(0, 6)
    expect(report.steps[0]?.lossRl).toBeNull()
  })

  it('uses the student’s own score where the active version sampled the bare prompt', async () => {
    const scores = async (change: Partial<Sample>) => {
      const samples = [turnSample({ samplerLogProbs: await served(), ...change })]
      const before = model.calls['score'] ?? 0
      const { report } = await train({ samples, config: { anchorsPerStep: 0 } })
      expect(report.steps[0]?.logProbGap).not.toBeNull()
      return (model.calls['score'] ?? 0) - before
    }
    expect(await scores({})).toBe(1)
    const seen = [1, 2, 3, 9]
    const scaffolded = { sampledPromptIds: seen, samplerLogProbs: await served(0.6, seen) }
    const hinted = { ...scaffolded, reward: null, hints: hints.slice(0, 1) }
    // Student, guard, teacher.
    expect(await scores(hinted)).toBe(3)
  })

  it('re-scores what an earlier version sampled with that version, and bounds its importance', async () => {
    const active = model.createAdapter({ rank: 2, alpha: 4, seed: 1 })
    active.tensors[0]?.b.fill(1)
    const older = model.createAdapter({ rank: 2, alpha: 4, seed: 1 })
    older.tensors[0]?.b.fill(-1)
    const tokens = Int32Array.from([1, 2, 3, 4, 5, 6])
    const sampler = await model.score({
      tokens,
      responseStart: 3,
      temperature: 0.6,
      adapter: older,
    })
    const sample = turnSample({ version: 1, reward: 1, samplerLogProbs: [...sampler.sampled] })
    const asked: number[] = []
    const adapterOfVersion = (version: number) => {
      asked.push(version)
      return Promise.resolve(older)
    }
    const old = await model.score({ tokens, responseStart: 3, temperature: 0.6, adapter: active })
    const weights = [...old.sampled].map((value, t) =>
      Math.min(Math.exp(value - (sampler.sampled[t] ?? NaN)), 2),
    )
    // Two versions later: version 3 is what the run goes on from.
    const versions = { parentPath: 'v3', versionPaths: { '1': 'v1', '3': 'v3' } }
    const run = { adapter: active, adapterOfVersion }
    const config = { anchorsPerStep: 0 }
    const { report } = await train({ samples: [sample], config, ...versions }, run)
    expect(asked).toEqual([1])
    expect(weights).toContain(2)
    expect(Math.min(...weights)).toBeLessThan(2)
    expect(report.steps[0]?.logProbGap).toBeCloseTo(0, 6)
    const importance = weights.reduce((sum, weight) => sum + weight, 0) / weights.length
    expect(importance).not.toBeCloseTo(1, 2)
    expect(report.steps[0]?.lossRl).toBeCloseTo(-importance, 5)
  })

  it('skips nearly greedy replies and versions that are gone', async () => {
    const wrong = [-9, -9, -9]
    const samples = [
      turnSample({ id: 'cold', temperature: 0.1, samplerLogProbs: wrong }),
      turnSample({ id: 'gone', version: 5, samplerLogProbs: wrong }),
    ]
    const { report } = await train({ samples })
    expect(report.usedSampleIds).toEqual(['cold', 'gone'])
    expect(report.steps[0]?.logProbGap).toBeNull()
    // Importance 1: −(−0.3) in the first step, whatever the server said.
    expect(report.steps[0]?.lossRl).toBeCloseTo(0.3, 5)
  })
})

describe('repeatability', () => {
  const samples = [turnSample({ hints }), ...demos(3)]

  it('gives the same bytes for the same seed and others for another', async () => {
    const config = { selection: 'random' as const, learningRate: 0.01 }
    const first = await train({ samples, config })
    const second = await train({ samples: [...samples].reverse(), config })
    const other = await train({ samples, config: { ...config, seed: 2 } })
    expect(numbersOf(second.adapter)).toEqual(numbersOf(first.adapter))
    expect(numbersOf(other.adapter)).not.toEqual(numbersOf(first.adapter))
  })

  it('ends at the same bytes when a run is resumed from its files', async () => {
    await using folder = await temporaryFolder()
    const files = { adapterPath: join(folder.path, 'a'), statePath: join(folder.path, 's') }
    const config = { learningRate: 0.01 }
    const straight = await train({ samples: demos(3), config: { ...config, passes: 4 } })
    const half = await train({ samples: demos(3), config: { ...config, passes: 2 } })
    await writeCheckpoint(files, {
      state: half.optimiser.serialise(),
      writeAdapter: (path) => writeReferenceAdapter(path, half.adapter),
    })
    const adapter = await model.readAdapter(files.adapterPath)
    const { optimiser } = await readState(files.statePath, adapter)
    const rest = { samples: demos(3), config: { ...config, passes: 2 } }
    const resumed = await train(rest, { adapter, optimiser })
    expect(numbersOf(resumed.adapter)).toEqual(numbersOf(straight.adapter))
    expect(resumed.optimiser.serialise()).toEqual(straight.optimiser.serialise())
  })
})

describe('refused and cancelled runs', () => {
  it('writes nothing after a gradient far above the usual', async () => {
    const { report, writes } = await train({ samples: [turnSample()], medianGradientNorm: 1e-9 })
    expect(report).toMatchObject({ kind: 'refused', usedSampleIds: [], steps: [] })
    expect(report.reason).toContain('over 100 times the usual')
    expect(writes).toBe(0)
  })

  it('writes nothing when numbers are not finite', async () => {
    const adapter = model.createAdapter({ rank: 2, alpha: 4, seed: 1 })
    adapter.tensors[0]?.b.fill(NaN)
    const { report, writes } = await train({ samples: demos(1) }, { adapter })
    expect(report).toMatchObject({ kind: 'refused', reason: 'step 1: the loss is NaN' })
    expect(writes).toBe(0)
  })

  it('gives up at any yield point without writing', async () => {
    let calls = 0
    const counted = () => {
      calls++
      return Promise.resolve({ threads: 1 })
    }
    const samples = [turnSample({ hints, samplerLogProbs: await served() })]
    await train({ samples }, { yieldPoint: counted })
    const total = calls
    expect(total).toBeGreaterThan(5)
    for (let stop = 1; stop <= total; stop++) {
      calls = 0
      let written = false
      const yieldPoint = async () => {
        if (++calls === stop) throw new AppError('cancelled', 'stop')
        return { threads: 1 }
      }
      const write = () => {
        written = true
        return Promise.resolve()
      }
      const run = train({ samples }, { yieldPoint, write })
      await expect(run).rejects.toMatchObject({ code: 'cancelled' })
      expect(written).toBe(false)
    }
  })

  it('holds a batch of negatives alone to the base even with the anchor off', async () => {
    const off = { weightAnchor: 0, anchorsPerStep: 0 }
    const negatives = await train({ samples: [turnSample()], config: off })
    expect(negatives.report.steps[1]?.lossAnchor).toBeGreaterThan(0)
    const mixed = await train({ samples: [turnSample(), ...demos(1)], config: off })
    expect(mixed.report.steps[1]?.lossAnchor).toBeNull()
    expect(anchorSettings(trainingConfig({ weightAnchor: 0.5 }), [])).toEqual({
      count: 4,
      weight: 0.5,
      endingWeight: 0.2,
    })
  })

  it('knows the usual gradient and the schedule', () => {
    expect([median([]), median([3, 1, 2]), median([4, 1, 2, 3])]).toEqual([null, 2, 2.5])
    expect(refuseStep({ loss: 1, norm: 100, usual: 1 })).toBeNull()
    expect(refuseStep({ loss: 1, norm: 101, usual: 1 })).toContain('100 times')
    expect(refuseStep({ loss: 1, norm: 1e9, usual: null })).toBeNull()
    expect(refuseStep({ loss: 1, norm: Infinity, usual: null })).toContain('Infinity')
    const cosine = trainingConfig({ schedule: 'cosine', learningRate: 1 })
    expect([0, 0.5].map((done) => scheduledRate(cosine, done))).toEqual([1, 0.5])
    expect(scheduledRate(trainingConfig({ learningRate: 1 }), 0.9)).toBe(1)
  })
})
