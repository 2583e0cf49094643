// Does the bare candidate satisfy the approved notes at least as often as the active version, less one?
// On held-out first prompts of the user's own where there are eight, else on bundled ones (DESIGN 10).
import type { Note } from '../../shared/domain/hint.ts'
import type { GateCheck } from '../../shared/domain/version.ts'
import type { AdapterFile } from '../policy/types.ts'
import type { GateInput } from './gate.ts'
import type { LearningDeps } from './ports.ts'
import { wilson } from './statistics.ts'
import { mayTeach } from './teaching.ts'

const ownPromptsNeeded = 8
const ownPromptsMost = 16
const bundledPrompts = 8

/** A note counts as learned when seven of eight bare replies satisfy it, as forgotten under five. */
const learnedShare = 7 / 8
const forgottenShare = 5 / 8

interface Trial {
  readonly note: Note
  readonly prompts: readonly string[]
  readonly own: boolean
}

export interface PreferenceOutcome {
  readonly check: GateCheck
  readonly learned: readonly string[]
  readonly forgotten: readonly string[]
}

function heldOutPrompts(deps: LearningDeps, note: Note): string[] {
  return deps.store
    .recentTurns(2000)
    .filter((turn) => turn.heldOut && mayTeach(deps.store, turn.chatId))
    .map((turn) => {
      const parentId = deps.store.message(turn.messageId)?.parentId ?? null
      const text = parentId === null ? '' : (deps.store.message(parentId)?.text ?? '')
      return deps.rules.inScope(note, text, turn.chatId) ? text : ''
    })
    .filter((text) => text !== '')
    .slice(-ownPromptsMost)
}

function trialOf(deps: LearningDeps, note: Note): Trial | null {
  if (note.check === null || note.scope.kind === 'chat') return null
  const own = heldOutPrompts(deps, note)
  if (own.length >= ownPromptsNeeded) return { note, prompts: own, own: true }
  const bundled = deps.resources.kinds
    .filter((prompt) => deps.rules.inScope(note, prompt, ''))
    .slice(0, bundledPrompts)
  return bundled.length === 0 ? null : { note, prompts: bundled, own: false }
}

/** How many bare replies of a version satisfy the note; stops a reply early once it cannot any more. */
async function satisfied(
  deps: LearningDeps,
  adapter: AdapterFile,
  about: { readonly trial: Trial; readonly signal: AbortSignal },
): Promise<number> {
  const { note, prompts } = about.trial
  const key = `preference:${deps.policy().info().modelId}:${adapter.version}:${note.id}:${JSON.stringify([note.check, prompts])}`
  const known = deps.store.value(key)
  if (typeof known === 'number') return known
  const policy = deps.policy()
  let count = 0
  for (const [index, prompt] of prompts.entries()) {
    const { ids } = policy.render([{ role: 'user', text: prompt }], { reserve: 256 })
    const early = new AbortController()
    let text = ''
    const generation = await policy.generate({
      lane: 'evaluate',
      promptIds: ids,
      adapter,
      temperature: 0.6,
      topP: 1,
      topK: 0,
      minP: 0,
      seed: 2000 + index,
      maxTokens: 256,
      signal: AbortSignal.any([about.signal, early.signal]),
      onToken: (token) => {
        text += token.text
        if (isHopeless(deps, note, text)) early.abort()
      },
    })
    about.signal.throwIfAborted()
    const isDone = generation.finish === 'stop' || note.check?.kind !== 'max-words'
    if (isDone && note.check !== null && deps.rules.satisfies(note.check, generation.text))
      count += 1
  }
  deps.store.setValue(key, count)
  return count
}

/** An upper limit on words that is broken stays broken. */
function isHopeless(deps: LearningDeps, note: Note, text: string): boolean {
  return note.check?.kind === 'max-words' && !deps.rules.satisfies(note.check, text)
}

function sentenceOf(
  trial: Trial,
  counts: { readonly before: number; readonly now: number },
): string {
  const total = trial.prompts.length
  const { low, high } = wilson(counts.now, total)
  const range = `${Math.round(low * 100)}–${Math.round(high * 100)}%`
  const text = `“${trial.note.text}”: ${counts.now} of ${total} now, ${counts.before} of ${total} before (${range}).`
  return trial.own ? text : `${text} Not tested on your own prompts yet.`
}

/** Runs the preference check over every checkable note in use. */
export async function checkPreference(
  deps: LearningDeps,
  input: GateInput,
): Promise<PreferenceOutcome> {
  const trials = input.notes.map((note) => trialOf(deps, note)).filter((trial) => trial !== null)
  const learned: string[] = []
  const forgotten: string[] = []
  const sentences: string[] = []
  let isWorse = false
  let worst: number | null = null
  for (const trial of trials) {
    const about = { trial, signal: input.signal }
    const before = await satisfied(deps, input.active, about)
    const now = await satisfied(deps, input.candidate, about)
    const share = now / trial.prompts.length
    if (now < before - 1) isWorse = true
    if (share >= learnedShare) learned.push(trial.note.id)
    if (share < forgottenShare) forgotten.push(trial.note.id)
    worst = worst === null ? share : Math.min(worst, share)
    sentences.push(sentenceOf(trial, { before, now }))
  }
  if (trials.length === 0) {
    const sentence =
      input.notes.length === 0
        ? 'There is no approved note to test yet.'
        : 'The approved notes cannot be tested by a rule, or no prompt of their kind is at hand.'
    return {
      check: { name: 'preference', verdict: 'not-tested', sentence, value: null, limit: null },
      learned,
      forgotten,
    }
  }
  const verdict = isWorse ? 'failed' : trials.some((trial) => trial.own) ? 'passed' : 'not-tested'
  return {
    check: {
      name: 'preference',
      verdict,
      sentence: sentences.join(' '),
      value: worst,
      limit: null,
    },
    learned,
    forgotten,
  }
}
