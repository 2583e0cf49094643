// The gate: what a candidate must pass to become active, in order, stopping at the first failure (DESIGN 10).
// Not the swap. Every verdict is one sentence in plain words with its numbers.
import { z } from 'zod'
import type { Note } from '../../shared/domain/hint.ts'
import type { RunReport } from '../../shared/domain/training.ts'
import type { GateCheck, GateReport } from '../../shared/domain/version.ts'
import type { AdapterFile } from '../policy/types.ts'
import { tokenised } from './exchanges.ts'
import { checkPreference } from './preference.ts'
import type { LearningDeps } from './ports.ts'
import { mean, repetition } from './statistics.ts'

/** Nats; DESIGN 10. */
export const driftLimit = 0.3

/** A 4-gram share that ordinary prose of small models stays well under. */
const repetitionLimit = 0.5

/** Neutral prompts whose replies are generated; the drift looks at all of them. */
const generatedPrompts = 12
const replyTokens = 96

export interface GateInput {
  readonly candidate: AdapterFile & { readonly path: string }
  readonly active: AdapterFile
  readonly report: RunReport
  /** Notes that are in use, checkable or not. */
  readonly notes: readonly Note[]
  readonly signal: AbortSignal
}

export interface GateOutcome {
  readonly report: GateReport
  /** Notes that the bare candidate satisfies now, and those it has forgotten. */
  readonly learnedNoteIds: readonly string[]
  readonly forgottenNoteIds: readonly string[]
}

function checkNumbers(report: RunReport): GateCheck {
  const norms = report.steps.map((step) => step.gradientNorm)
  const isFinite = report.steps.every(
    (step) => Number.isFinite(step.loss) && Number.isFinite(step.gradientNorm),
  )
  const largest = Math.max(0, ...norms)
  return {
    name: 'numbers',
    verdict: isFinite && norms.length > 0 ? 'passed' : 'failed',
    sentence: isFinite
      ? `All ${norms.length} updates were finite; the largest gradient norm was ${largest.toPrecision(2)}.`
      : 'A loss or gradient was not a finite number.',
    value: isFinite ? largest : null,
    limit: null,
  }
}

async function checkDrift(deps: LearningDeps, input: GateInput): Promise<GateCheck> {
  const trainer = await deps.trainer()
  const exchanges = tokenised(deps.policy(), deps.resources.gate)
  const { kl } = await trainer.drift({ adapterPath: input.candidate.path, exchanges })
  const value = mean(kl)
  const isWithin = value <= driftLimit
  return {
    name: 'drift',
    verdict: isWithin ? 'passed' : 'failed',
    sentence: isWithin
      ? `On ${kl.length} neutral prompts it stays close to the base (KL ${value.toFixed(2)}, at most ${driftLimit}).`
      : `On ${kl.length} neutral prompts it moved too far from the base (KL ${value.toFixed(2)}, at most ${driftLimit}).`,
    value,
    limit: driftLimit,
  }
}

/** Sampled replies to the first neutral prompts; the same seeds for every version, so that lengths pair up. */
async function neutralReplies(
  deps: LearningDeps,
  adapter: AdapterFile,
  signal: AbortSignal,
): Promise<string[]> {
  const policy = deps.policy()
  const texts: string[] = []
  for (const [index, { prompt }] of deps.resources.gate.slice(0, generatedPrompts).entries()) {
    const { ids } = policy.render([{ role: 'user', text: prompt }], { reserve: replyTokens })
    const generation = await policy.generate({
      lane: 'evaluate',
      promptIds: ids,
      adapter,
      temperature: 0.6,
      topP: 1,
      topK: 0,
      minP: 0,
      seed: 1000 + index,
      maxTokens: replyTokens,
      signal,
    })
    signal.throwIfAborted()
    texts.push(generation.text)
  }
  return texts
}

const textsSchema = z.array(z.string())

/** The base model's replies to the same prompts with the same seeds, made once per model. */
async function baseReplies(deps: LearningDeps, signal: AbortSignal): Promise<string[]> {
  const key = `gate-replies:${deps.policy().info().modelId}:${generatedPrompts}:${replyTokens}`
  const known = textsSchema.safeParse(deps.store.value(key))
  if (known.success) return known.data
  const texts = await neutralReplies(deps, { version: 0, path: null }, signal)
  deps.store.setValue(key, texts)
  return texts
}

function checkLength(replies: readonly string[], baseTexts: readonly string[]): GateCheck {
  const count = (text: string) => text.split(/\s+/).filter(Boolean).length
  const base = mean(baseTexts.map(count))
  const own = mean(replies.map(count))
  const ratio = own / Math.max(1, base)
  const isWithin = ratio >= 0.5 && ratio <= 2
  return {
    name: 'length',
    verdict: isWithin ? 'passed' : 'failed',
    sentence: `Neutral replies are ${Math.round(own)} words long, ${Math.round(base)} with the base.`,
    value: ratio,
    limit: 2,
  }
}

function checkRepetition(replies: readonly string[]): GateCheck {
  const value = mean(replies.map(repetition))
  const isWithin = value <= repetitionLimit
  return {
    name: 'repetition',
    verdict: isWithin ? 'passed' : 'failed',
    sentence: isWithin
      ? 'It does not repeat itself.'
      : `It repeats itself: ${Math.round(value * 100)}% of its phrases occur more than once.`,
    value,
    limit: repetitionLimit,
  }
}

/** Runs the checks; rejects only when a check could not be carried out at all. */
export async function runGate(deps: LearningDeps, input: GateInput): Promise<GateOutcome> {
  const startedAt = deps.now()
  const checks: GateCheck[] = []
  const outcome = (preference: {
    readonly learned: readonly string[]
    readonly forgotten: readonly string[]
  }): GateOutcome => {
    const failed = checks.find((check) => check.verdict === 'failed')
    const last = checks.at(-1)
    return {
      report: {
        passed: failed === undefined,
        checks,
        sentence: failed?.sentence ?? last?.sentence ?? 'Nothing was checked.',
        seconds: (deps.now() - startedAt) / 1000,
      },
      learnedNoteIds: preference.learned,
      forgottenNoteIds: preference.forgotten,
    }
  }
  const none = { learned: [], forgotten: [] }
  const add = (check: GateCheck): boolean => {
    checks.push(check)
    return check.verdict !== 'failed'
  }
  if (!add(checkNumbers(input.report))) return outcome(none)
  if (!add(await checkDrift(deps, input))) return outcome(none)
  const baseTexts = await baseReplies(deps, input.signal)
  const replies = await neutralReplies(deps, input.candidate, input.signal)
  if (!add(checkLength(replies, baseTexts))) return outcome(none)
  if (!add(checkRepetition(replies))) return outcome(none)
  const preference = await checkPreference(deps, input)
  add(preference.check)
  return outcome(preference)
}
