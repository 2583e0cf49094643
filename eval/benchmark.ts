// One trial against the real app, from a fresh data folder to rows of the table; and what the base does before all.
import { resolve } from 'node:path'
import { sums } from './arithmetic.ts'
import { connect, type AppClient } from './client.ts'
import { controlPrompts, meanNeutralKl } from './control.ts'
import { startHost } from './host.ts'
import { judgeTokens } from './judge-cost.ts'
import { askNeutral, askSums, measureReplies, withHint } from './measure.ts'
import { isMethodName, methodOf, settingsFor, type MethodName } from './methods.ts'
import { findPersona } from './personas/index.ts'
import { countWords, planRequests, type Check, type Persona } from './personas/persona.ts'
import { createProgress } from './progress.ts'
import { createRandom } from './random.ts'
import type { BaseRate, NeutralBase, Row, Share } from './results.ts'
import { playRounds, sessionWork, type Played, type Seated } from './sessions.ts'
import { mean, outcomeString, repetition, sessionsToTarget, thirdInARow } from './statistics.ts'
import { createTally } from './tally.ts'
import { variantOf, type TrialConfig } from './trial.ts'
import type { Seat } from './user.ts'
import type { Speaking } from './user-model.ts'
import { openWatch } from './watch.ts'

export interface Place {
  readonly modelPath: string
  readonly dataDir: string
  readonly signal: AbortSignal
  readonly print: (line: string) => void
  /** The core that the app is bound to; null = it may use all. */
  readonly core: number | null
}

export interface Trial extends Place {
  readonly config: TrialConfig
  /** What the base does, for each persona of the trial. */
  readonly bases: readonly BaseRate[]
  readonly neutral: NeutralBase
  /** Exchanges on which the drift is measured. */
  readonly controlExchanges: number
  /** Words the complaints; null = templates do. */
  readonly speaking: Speaking | null
}

/** Lets somebody sit down at a fresh app; the app's own randomness follows the seed. */
async function withApp<Result>(
  place: Place & { readonly seed: number },
  use: (seat: Seat) => Promise<Result>,
): Promise<Result> {
  const { modelPath, dataDir, signal, core } = place
  const seed = place.seed * 100_003
  await using host = await startHost({ modelPath, dataDir, signal, seed, core })
  await using connection = await connect(host.url)
  await using watch = await openWatch(connection)
  return await use({ connection, watch })
}

async function beQuiet(client: AppClient): Promise<void> {
  await client.settings.update({ scaffold: false, schedule: 'paused' })
}

export interface BaseRequest {
  readonly persona: Persona
  readonly bare: number
  readonly told: number
}

/** How often the base meets a persona's wish by itself, and with the wish as a hint line. */
export async function measureBase(place: Place, request: BaseRequest): Promise<BaseRate> {
  const { persona, bare, told } = request
  const start = Date.now()
  const progress = createProgress(bare + told, place.print)
  const { measured } = planRequests(persona, 1, bare)
  return withApp({ ...place, seed: 1 }, async (seat) => {
    await beQuiet(seat.connection.client)
    const user = { ...seat, persona }
    const checks = await measureReplies(user, { requests: measured, what: 'bare reply' }, progress)
    const hinted = measured.slice(0, told).map((one) => withHint(one, persona.hint))
    const toldChecks = await measureReplies(
      user,
      { requests: hinted, what: 'reply with the hint' },
      progress,
    )
    return {
      kind: 'base',
      model: modelName(place.modelPath),
      persona: persona.name,
      wish: persona.wish,
      bare: checks.map(({ satisfied }) => satisfied),
      scores: checks.map(({ score }) => score),
      told: toldChecks.map(({ satisfied }) => satisfied),
      seconds: secondsSince(start),
    }
  })
}

/** What the base does with neutral prompts and simple sums. */
export async function measureNeutral(place: Place, replies: number): Promise<NeutralBase> {
  const start = Date.now()
  const progress = createProgress(controlPrompts(replies).length + sums.length, place.print)
  return withApp({ ...place, seed: 1 }, async (seat) => {
    await beQuiet(seat.connection.client)
    const texts = await askNeutral(seat, replies, progress)
    return {
      kind: 'neutral',
      model: modelName(place.modelPath),
      words: texts.map(countWords),
      repetition: mean(texts.map(repetition)),
      arithmetic: [...(await askSums(seat, progress))],
      seconds: secondsSince(start),
    }
  })
}

export function modelName(path: string): string {
  return resolve(path).split(/[\\/]/).at(-1) ?? path
}

function secondsSince(start: number): number {
  return Math.round((Date.now() - start) / 1000)
}

type Outcome = Pick<Check, 'satisfied' | 'score'>

interface Seen {
  readonly played: readonly Played[]
  readonly after: readonly (readonly Outcome[])[]
  /** Replies to the neutral prompts; null = as the base. */
  readonly neutralAfter: readonly string[] | null
  readonly sumsAfter: Share
  readonly training: Row['training']
  /** File of the adapter that answers in the end; null = the base. */
  readonly adapterPath: string | null
}

/** Rows in the order of the configuration's personas. */
export async function runTrial(trial: Trial): Promise<Row[]> {
  const { config, modelPath, signal } = trial
  const start = Date.now()
  const people = config.personas.map(findPersona)
  const tallies = people.map(createTally)
  const seen = await watchItLearn(trial, { people, tallies })
  const kl = await meanNeutralKl({
    modelPath,
    adapterPath: seen.adapterPath,
    exchanges: trial.controlExchanges,
    signal,
  })
  const control: Row['control'] = {
    kl,
    ...neutralOf(trial, seen.neutralAfter),
    arithmetic: { before: trial.neutral.arithmetic, after: [...seen.sumsAfter] },
  }
  const userModel = trial.speaking?.spoken() ?? null
  const rows: Row[] = []
  for (const [index, persona] of people.entries()) {
    const tally = tallies[index] as (typeof tallies)[number]
    const tokens = await judgeTokens(modelPath, tally.judged())
    rows.push({
      ...rowOf(trial, { persona, index, seen }),
      control,
      seconds: 0,
      judge: { ...tally.judge(), tokens },
      hints: [...tally.hints()],
      training: seen.training,
      userModel,
    })
  }
  const seconds = secondsSince(start)
  return rows.map((row) => ({ ...row, seconds }))
}

function rowOf(
  { config, bases }: Trial,
  about: { readonly persona: Persona; readonly index: number; readonly seen: Seen },
) {
  const { persona, index, seen } = about
  const played = seen.played[index] as Played
  const after = seen.after[index] as readonly Outcome[]
  const base = bases[index] as BaseRate
  const { outcomes } = played
  return {
    setting: config.setting,
    persona: persona.name,
    method: config.method,
    seed: config.seed,
    wrongSignals: config.wrongSignals,
    variant: variantOf(config),
    sessionsToTarget: sessionsToTarget(outcomes, config.sessionsCap),
    cap: config.sessionsCap,
    reached: thirdInARow(outcomes) !== null,
    sessions: outcomeString(outcomes, played.trainedAfter),
    firstReply: {
      before: shareOf(base.bare.slice(0, config.firstReplies)),
      after: shareOf(after.map(({ satisfied }) => satisfied)),
    },
    preference: preferencePoints(played, {
      before: base.scores.slice(0, config.firstReplies),
      after: after.map(({ score }) => score),
    }),
  }
}

function shareOf(outcomes: readonly boolean[]): [number, number] {
  return [outcomes.filter(Boolean).length, outcomes.length]
}

/** First replies of so many sessions make one point: single ones jump between 0 and 1. */
const sessionsPerPoint = 4

function preferencePoints(
  { nearness, interactions }: Played,
  measured: { readonly before: readonly number[]; readonly after: readonly number[] },
): Row['preference'] {
  const points = [{ interactions: 0, score: mean(measured.before) }]
  for (let from = 0; from < nearness.length; from += sessionsPerPoint) {
    const part = nearness.slice(from, from + sessionsPerPoint)
    const at = part.at(-1)?.interactions ?? 0
    if (at > 0) points.push({ interactions: at, score: mean(part.map(({ score }) => score)) })
  }
  return [...points, { interactions, score: mean(measured.after) }]
}

async function watchItLearn(
  trial: Trial,
  about: {
    readonly people: readonly Persona[]
    readonly tallies: readonly Seated['tally'][]
  },
): Promise<Seen> {
  const { config } = trial
  const name = methodName(config.method)
  const method = methodOf(name)
  const { seed } = config
  return withApp({ ...trial, seed }, async (seat) => {
    const { client } = seat.connection
    const progress = createProgress(workOf(config), trial.print)
    const learning = { method: name, seed, overrides: config.overrides }
    await client.settings.update(settingsFor(learning, await client.settings.get()))
    const seats = about.people.map((persona, index): Seated => ({
      user: {
        ...seat,
        persona,
        random: createRandom(seed * 31 + index),
        wording: config.wording,
        maxCorrections: 2,
        wrongSignals: config.wrongSignals,
        readsLastReply: false,
        ...(trial.speaking === null ? {} : { speaker: trial.speaking.speaker }),
      },
      requests: planRequests(persona, seed, config.firstReplies).sessions,
      tally: about.tallies[index] as Seated['tally'],
    }))
    const { sessionsCap: cap, trainEvery } = config
    const { played, training } = await playRounds({ seats, method, cap, trainEvery, progress })
    // Where nothing was learned and nothing helps, the base answers as before.
    if (method.trainer === null && !method.measuredWithNotes) {
      progress.skip(workOf({ ...config, sessionsCap: 0 }))
      return { played, training, ...unchanged(trial) }
    }
    // Prompt memory has nothing but its notes: it is measured with them, every trained method bare.
    await client.settings.update({ scaffold: method.measuredWithNotes })
    const after: (readonly Outcome[])[] = []
    for (const { user } of seats) {
      const { measured } = planRequests(user.persona, seed, config.firstReplies)
      after.push(
        await measureReplies(user, { requests: measured, what: 'reply afterwards' }, progress),
      )
    }
    const neutralAfter = await askNeutral(seat, config.controlReplies, progress)
    const sumsAfter = await askSums(seat, progress)
    const active = (await client.versions.list()).find(({ state }) => state === 'active')
    return {
      ...{ played, training, after, neutralAfter, sumsAfter },
      adapterPath: active?.path ?? null,
    }
  })
}

function unchanged({ bases, neutral, config }: Trial): Omit<Seen, 'played' | 'training'> {
  const after = bases.map(({ bare, scores }) =>
    bare
      .slice(0, config.firstReplies)
      .map((satisfied, index) => ({ satisfied, score: scores[index] ?? 0 })),
  )
  return { after, neutralAfter: null, sumsAfter: neutral.arithmetic, adapterPath: null }
}

function neutralOf(
  { neutral }: Trial,
  after: readonly string[] | null,
): Pick<Row['control'], 'lengthRatio' | 'repetition'> {
  if (after === null) return { lengthRatio: 1, repetition: neutral.repetition }
  return {
    lengthRatio: mean(after.map(countWords)) / mean(neutral.words),
    repetition: mean(after.map(repetition)),
  }
}

function methodName(name: string): MethodName {
  if (isMethodName(name)) return name
  throw new RangeError(`no method is called “${name}”`)
}

function workOf({ personas, sessionsCap, firstReplies, controlReplies }: TrialConfig): number {
  const measuring = personas.length * firstReplies + controlReplies + sums.length
  return measuring + personas.length * sessionsCap * sessionWork
}
