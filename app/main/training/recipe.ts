// One training run, read top to bottom: choose samples, score the student, guard, score teachers, update, write.
// Loss and numbers as DESIGN 7; the forward and backward passes are the engine's, the losses stand in losses/.
// It decides nothing about when to train or whether the result goes live.
import type { TrainEvent, TrainRequest } from '../../shared/contract/trainer.ts'
import type { RunReport, StepReport } from '../../shared/domain/training.ts'
import type { AdamW, Adapter, AdapterGradients, EngineModel, YieldPoint } from '../engine/index.ts'
import { gradientNorm } from '../engine/index.ts'
import type { BaseOfAnchors } from './anchors.ts'
import { anchorStep, anchorSettings, chooseAnchors, lengthOf } from './anchors.ts'
import type { BatchItem } from './batch.ts'
import { sawBarePrompt, selectBatch } from './batch.ts'
import { countDifferences } from './differences.ts'
import { chooseHeldOut, heldOutLoss, isLearned, setAsideReason } from './further-passes.ts'
import { guardSamples } from './guard.ts'
import type { SampleLossResult, SampleLossSettings } from './losses/sample.ts'
import { sampleLoss } from './losses/sample.ts'
import { lossWeights } from './methods.ts'
import { randomAt } from './random.ts'
import { lossSettings, mean, meanParts, median, refuseStep, scheduledRate } from './step.ts'
import { scoreBase, scoredTokens, scoreStudents } from './students.ts'
import type { PreparedItem } from './targets.ts'
import { prepareDemonstration, prepareTurn } from './targets.ts'
import type { ValueHead } from './value-head.ts'

export interface Run {
  readonly model: EngineModel
  readonly request: TrainRequest
  /** The active adapter; its numbers are changed in place. */
  readonly adapter: Adapter
  /** Bound to `adapter`. */
  readonly optimiser: AdamW
  /** Changed in place by `ppo-gae`, unused by the other methods. */
  readonly valueHead: ValueHead
  readonly adapterOfVersion: (version: number) => Promise<Adapter | null | 'missing'>
  readonly base: BaseOfAnchors
  /** Puts the adapter and the training state on disk. */
  readonly write: () => Promise<void>
  readonly emit: (event: TrainEvent) => void
  /** Rejects with `cancelled` when the run is to be given up. */
  readonly yieldPoint: YieldPoint
}

export async function runRecipe(run: Run): Promise<RunReport> {
  const { model, adapter, optimiser, valueHead, yieldPoint, emit } = run
  const { config } = run.request
  const startedAt = performance.now()
  const steps: StepReport[] = []
  let tokens = 0
  const { vocabulary } = model.info
  const limit = Math.min(config.sequenceLimit, model.info.contextLength)
  const batch = selectBatch({ ...run.request, vocabulary, limit })
  const excluded = [...batch.excluded]
  const report = (kind: RunReport['kind'], reason: string | null): RunReport => ({
    kind,
    reason,
    steps,
    usedSampleIds: kind === 'trained' ? training.map(({ item }) => item.sample.id) : [],
    excluded,
    seconds: (performance.now() - startedAt) / 1000,
    tokens,
    seed: config.seed,
    config,
  })
  let training: PreparedItem[] = []
  if (batch.items.length === 0) return report('no-signal', 'no sample carries a signal to train on')

  // Does the server still run the numbers that we train? The student's own scores tell where it sampled the reply.
  emit({ kind: 'phase', phase: 'guard' })
  const scoring = { model, config, adapter, yieldPoint }
  const students = await scoreStudents(batch.items, scoring)
  tokens += scoredTokens(students)
  const known = (item: BatchItem) =>
    isActive(run.request, item.sample.version) && sawBarePrompt(item.sample)
      ? students.get(item)
      : undefined
  const guard = await guardSamples({ ...run, items: batch.items, known })
  tokens += guard.tokens
  excluded.push(...guard.refused)
  if (guard.accepted.length === 0) {
    return report('refused', guard.refused[0]?.reason ?? 'the guard refused every sample')
  }

  // Everything detached, before the first update: supports, chosen hints, advantages, what the base says.
  emit({ kind: 'phase', phase: 'teacher' })
  const isPenalised = lossWeights(config).weightKl > 0
  const base = await scoreBase(isPenalised ? guard.accepted : [], scoring)
  tokens += scoredTokens(base)
  const prepared: PreparedItem[] = []
  for (const [index, item] of guard.accepted.entries()) {
    const student = students.get(item)
    const random = randomAt(config.seed, index)
    const trusted = guard.trusted.has(item)
    const own = { base: base.get(item) ?? null, random, trusted, valueHead }
    const next =
      student === undefined
        ? prepareDemonstration(item)
        : await prepareTurn(item, { ...scoring, ...own, student })
    tokens += next.scoredTokens
    prepared.push(next)
    if (next.overlap !== null) emit({ kind: 'overlap', overlap: next.overlap })
  }

  // Which demonstrations tell when to stop.
  const heldOut = chooseHeldOut(prepared, config)
  training = prepared.filter((entry) => !heldOut.includes(entry))
  const aside = { reason: setAsideReason, isSetAside: true }
  excluded.push(...heldOut.map(({ item }) => ({ sampleId: item.sample.id, ...aside })))
  const demonstrations = training.filter(({ item }) => item.demo)
  const taught = prepared.filter(({ differences }) => differences !== null)
  const outsideMass = mean(taught.flatMap((one) => one.outsideMass ?? []))
  const pull = taught.flatMap(({ differences }) => differences ?? [])
  const differences = taught.length === 0 ? null : countDifferences(pull, config.differenceClip)
  const values = training.flatMap(({ value }) => value ?? [])
  const extraPasses = demonstrations.length > 0 ? config.demonstrationPasses : 0
  const plannedSteps = config.passes + extraPasses
  const gradients = model.createGradients(adapter)
  let bestHeldOut = Infinity

  emit({ kind: 'phase', phase: 'updating' })
  for (let step = 0; step < plannedSteps; step++) {
    const isOrdinary = step < config.passes
    if (heldOut.length === 0 && !isOrdinary) {
      if (
        isLearned(
          steps.map(({ lossDemo }) => lossDemo),
          config.passes,
        )
      )
        break
    } else if (!isOrdinary) {
      const loss = await heldOutLoss(heldOut, scoring)
      tokens += tokensOf(heldOut)
      if (!(loss < bestHeldOut)) break
      bestHeldOut = loss
    }
    const stepStartedAt = performance.now()
    const entries = isOrdinary ? training : demonstrations
    numbersOf(gradients).forEach((numbers) => numbers.fill(0))

    const settings = lossSettings(config, entries.length)
    const results = await backwardOf(entries, { run, settings, gradients })
    const parts = meanParts(results)

    const anchoring = anchorSettings(config, training)
    const { seed } = config
    const drawn = { count: anchoring.count, seed, updates: optimiser.steps, limit }
    const chosen = chooseAnchors(run.request.anchors, drawn)
    const { endId } = run.request
    const anchored = await anchorStep(chosen, { ...run, ...anchoring, gradients, endId })
    const loss = results.reduce((sum, result) => sum + result.loss, 0) + anchored.weighted

    const norm = gradientNorm(numbersOf(gradients))
    const usual = run.request.medianGradientNorm ?? median(steps.map((done) => done.gradientNorm))
    const refusal = refuseStep({ loss, norm, usual })
    if (refusal !== null) return report('refused', `step ${step + 1}: ${refusal}`)
    const learningRate = scheduledRate(config, step / plannedSteps)
    optimiser.step(gradients, { learningRate, maxNorm: config.gradientClip })
    const lossValue = isOrdinary ? valueHead.step(values) : null

    const stepTokens = tokensOf(entries) + chosen.reduce((sum, one) => sum + lengthOf(one), 0)
    tokens += stepTokens
    const done: StepReport = {
      step: step + 1,
      steps: plannedSteps,
      loss,
      lossRl: parts.rl,
      lossOpd: parts.opd,
      lossDemo: parts.demo,
      lossAnchor: anchored.kl,
      lossEnding: anchored.ending,
      lossKl: parts.kl,
      lossValue,
      gradientNorm: norm,
      learningRate,
      logProbGap: guard.gap,
      outsideMass: isOrdinary ? outsideMass : null,
      differences: isOrdinary ? differences : null,
      tokens: stepTokens,
      seconds: (performance.now() - stepStartedAt) / 1000,
    }
    steps.push(done)
    emit({ kind: 'step', step: done })
  }

  const isFinite = numbersOf(adapter).every((numbers) => numbers.every(Number.isFinite))
  if (!isFinite) return report('refused', 'the adapter is no longer finite')
  await yieldPoint()
  emit({ kind: 'phase', phase: 'writing' })
  await run.write()
  return report('trained', null)
}

/** Whether a version is the one that this run goes on from. */
function isActive({ parentPath, versionPaths }: TrainRequest, version: number): boolean {
  if (version === 0) return parentPath === null
  return parentPath !== null && versionPaths[String(version)] === parentPath
}

/** Adds the gradients of all entries' losses; returns each loss with its parts. */
async function backwardOf(
  entries: readonly PreparedItem[],
  at: {
    readonly run: Run
    readonly settings: SampleLossSettings
    readonly gradients: AdapterGradients
  },
): Promise<SampleLossResult[]> {
  const { run, settings, gradients } = at
  const { model, adapter, yieldPoint } = run
  const requests = entries.map(({ tokens, responseStart, targets, item }) => ({
    ...{ tokens, responseStart, temperature: item.temperature, adapter, gradients, yieldPoint },
    gatherIds: targets.gatherIds,
    loss: (logProbs: Float32Array) => sampleLoss(logProbs, targets, settings),
  }))
  const results = await model.backwardAll(requests)
  return entries.flatMap(({ targets }, index) => {
    const gathered = results[index]?.gathered
    return gathered === undefined ? [] : [sampleLoss(gathered, targets, settings)]
  })
}

/** a and b of every pair. */
function numbersOf({ tensors }: AdapterGradients): Float32Array[] {
  return tensors.flatMap(({ a, b }) => [a, b])
}

function tokensOf(entries: readonly PreparedItem[]): number {
  return entries.reduce((sum, entry) => sum + entry.tokens.length, 0)
}
