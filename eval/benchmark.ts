// One persona, one seed, one method against the real app, from a fresh data folder to a row of the table.
import { connect, type AppClient } from './client.ts'
import { controlPrompts, meanNeutralKl, type NeutralReplies } from './control.ts'
import { startHost } from './host.ts'
import { settle, train } from './learning.ts'
import type { EvalOptions, Method } from './options.ts'
import { planRequests, type Persona } from './personas/persona.ts'
import { createProgress, type Progress } from './progress.ts'
import { createRandom } from './random.ts'
import type { Row } from './report.ts'
import { mean, outcomeString, repetition, sessionsToTarget, thirdInARow } from './statistics.ts'
import { countWords } from './personas/persona.ts'
import { askOnce, playSession, type SessionResult, type UserOptions } from './user.ts'
import { openWatch } from './watch.ts'

export interface Trial {
  readonly options: EvalOptions
  readonly persona: Persona
  readonly seed: number
  readonly dataDir: string
  readonly signal: AbortSignal
  readonly print: (line: string) => void
}

interface Seen {
  readonly outcomes: readonly boolean[]
  readonly before: readonly [number, number]
  readonly after: readonly [number, number]
  readonly neutral: { readonly before: NeutralReplies; readonly after: NeutralReplies }
  /** File of the adapter that answers in the end; null = the base. */
  readonly adapterPath: string | null
}

/** A session is about this many replies of work, its share of a training included. */
const sessionWork = 5

export async function runTrial(trial: Trial): Promise<Row> {
  const { options, persona, seed } = trial
  const start = Date.now()
  const seen = await watchItLearn(trial)
  const kl = await meanNeutralKl({
    modelPath: options.modelPath,
    adapterPath: seen.adapterPath,
    exchanges: options.controlExchanges,
    signal: trial.signal,
  })
  const { before, after } = seen.neutral
  return {
    setting: 'separate',
    persona: persona.name,
    method: options.scaffold ? `${options.method}+scaffold` : options.method,
    seed,
    sessionsToTarget: sessionsToTarget(seen.outcomes, options.sessionsCap),
    cap: options.sessionsCap,
    firstReply: { before: seen.before, after: seen.after },
    control: {
      kl,
      lengthRatio: mean(after.map(countWords)) / mean(before.map(countWords)),
      repetition: mean(after.map(repetition)),
    },
    seconds: Math.round((Date.now() - start) / 1000),
    sessions: outcomeString(seen.outcomes, options.trainEvery),
    reached: thirdInARow(seen.outcomes) !== null,
  }
}

async function watchItLearn(trial: Trial): Promise<Seen> {
  const { options, persona, seed, dataDir, signal } = trial
  await using host = await startHost({ modelPath: options.modelPath, dataDir, signal })
  await using connection = await connect(host.url)
  await using watch = await openWatch(connection)
  const { client } = connection
  const plan = planRequests(persona, seed, options.firstReplies)
  const measuring = 2 * (plan.measured.length + controlPrompts.length)
  const progress = createProgress(measuring + options.sessionsCap * sessionWork, (line) => {
    trial.print(`${persona.name} ${options.method} seed ${seed} · ${line}`)
  })
  const user: UserOptions = {
    connection,
    watch,
    persona,
    random: createRandom(seed),
    wording: options.wording,
    maxCorrections: 2,
    wrongSignals: options.wrongSignals,
    readsLastReply: false,
  }
  await setUp(client, options.method, seed)
  const before = await measure(user, plan.measured, progress)
  const neutralBefore = await askNeutral(user, progress)
  await client.settings.update({ scaffold: helpsInPrompt(options) })
  const outcomes = await playSessions({ user, options, requests: plan.sessions, progress })
  // Prompt memory has nothing but its notes: it is measured with them, every trained method bare.
  await client.settings.update({ scaffold: options.method === 'prompt-memory' })
  const after = await measure(user, plan.measured, progress)
  const neutralAfter = await askNeutral(user, progress)
  const active = (await client.versions.list()).find(({ state }) => state === 'active')
  return {
    outcomes,
    before,
    after,
    neutral: { before: neutralBefore, after: neutralAfter },
    adapterPath: active?.path ?? null,
  }
}

function helpsInPrompt({ method, scaffold }: EvalOptions): boolean {
  return scaffold || method === 'prompt-memory'
}

function trains(method: Method): method is 'grpo' | 'opd' | 'hybrid' {
  return method !== 'none' && method !== 'prompt-memory'
}

/** Trainings happen when the benchmark says so: nothing starts by itself between them. */
async function setUp(client: AppClient, method: Method, seed: number): Promise<void> {
  const { training } = await client.settings.get()
  await client.settings.update({
    scaffold: false,
    scaffoldPlace: method === 'prompt-memory' ? 'system' : 'last-message',
    hintPolicy: 'automatic',
    practice: false,
    schedule: 'as-i-chat',
    quietSeconds: 24 * 3600,
    training: { ...training, seed, ...(trains(method) ? { method } : {}) },
  })
}

async function measure(
  user: UserOptions,
  requests: readonly string[],
  progress: Progress,
): Promise<readonly [number, number]> {
  let satisfied = 0
  for (const [index, request] of requests.entries()) {
    const check = user.persona.check(await askOnce(user, request))
    if (check.satisfied) satisfied++
    progress.report(`bare first reply ${index + 1}: ${check.detail}, ${satisfied} satisfied`, 1)
  }
  return [satisfied, requests.length]
}

async function askNeutral(user: UserOptions, progress: Progress): Promise<NeutralReplies> {
  const replies: string[] = []
  for (const prompt of controlPrompts) {
    const reply = await askOnce(user, prompt)
    replies.push(reply)
    progress.report(`neutral reply ${replies.length}: ${countWords(reply)} words`, 1)
  }
  return replies
}

interface Sessions {
  readonly user: UserOptions
  readonly options: EvalOptions
  readonly requests: readonly string[]
  readonly progress: Progress
}

async function playSessions({ user, options, requests, progress }: Sessions): Promise<boolean[]> {
  const outcomes: boolean[] = []
  const { client } = user.connection
  while (outcomes.length < options.sessionsCap && thirdInARow(outcomes) === null) {
    const number = outcomes.length + 1
    const request = requests[outcomes.length % requests.length]
    if (request === undefined) throw new RangeError('no request is left for a session')
    const session = await playSession(user, request)
    const settled = await settle(client, user.watch, session.chatId)
    outcomes.push(session.firstReply.satisfied)
    progress.report(
      `session ${number}: ${sessionLine(session)}, rewards ${settled.rewards || 'none'}, ${settled.hints} hints · ${outcomeString(outcomes, options.trainEvery)}`,
      sessionWork,
    )
    for (const error of settled.judgeErrors) progress.note(`judging failed: ${error}`)
    const isDue = outcomes.length % options.trainEvery === 0 && thirdInARow(outcomes) === null
    if (isDue && trains(options.method)) await trainAndTell(user, progress)
  }
  progress.skip((options.sessionsCap - outcomes.length) * sessionWork)
  return outcomes
}

function sessionLine({ firstReply, corrections, end }: SessionResult): string {
  const verdict = firstReply.satisfied ? 'right' : 'wrong'
  return `first reply ${verdict} (${firstReply.detail}), ${corrections} corrections, ${end}`
}

async function trainAndTell({ connection, watch }: UserOptions, progress: Progress): Promise<void> {
  const training = await train(connection.client, watch)
  progress.note(
    training.kind === 'none'
      ? `no training: ${training.reason}`
      : `training took ${training.seconds.toFixed(0)} s: ${training.run.outcome}. ${training.run.sentence}`,
  )
}
