// The measured part of docs/learning.md, from the results alone: a table that is not finished says so.
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { replaceBlock } from '../bench/docs.ts'
import { groupsOf, meanOf, pooled, rowsOf, sessionsText, type Group } from './aggregate.ts'
import { isWithinNoise } from './arithmetic.ts'
import { preferenceChart, sessionsChart } from './charts.ts'
import { isMethodName, methodNames, methodOf } from './methods.ts'
import { isPossible, jobName, type Job, type Numbers } from './plan.ts'
import { methodText, percentText, shareText } from './report.ts'
import type { Entry, Results, Row } from './results.ts'
import { finished, secondsLeft } from './run-plan.ts'
import { mean } from './statistics.ts'

export interface LearningDocs {
  readonly jobs: readonly Job[]
  readonly numbers: Numbers
  readonly results: Results
}

const sessionsFile = 'learning-sessions.svg'
const preferenceFile = 'learning-preference.svg'

/** Replaces what stands between the markers of `file` and draws the charts beside it. */
export function writeLearningDocs(file: string, docs: LearningDocs): void {
  const entries = docs.results.all()
  const charts = chartsOf(entries)
  const document = Object.entries(blocksOf(docs, Object.keys(charts))).reduce(
    (text, [name, content]) => replaceBlock(text, name, content),
    readFileSync(file, 'utf8'),
  )
  writeFileSync(file, document)
  for (const [name, svg] of Object.entries(charts)) writeFileSync(join(dirname(file), name), svg)
}

/** By the name of the block in the document. */
export function blocksOf(docs: LearningDocs, charts: readonly string[]): Record<string, string> {
  const entries = docs.results.all()
  const groups = groupsOf(rowsOf(entries))
  const isMain = ({ variant, wrongSignals }: Group): boolean => variant === '' && wrongSignals === 0
  const main = groups.filter(isMain)
  const models = [...new Set(main.map(({ model }) => model))]
  const pictures = charts.map((name) => `![${titles[name] ?? name}](${name})`)
  return {
    state: stateText(docs),
    methods: methodTable(),
    base: baseTable(entries),
    table:
      [...models.flatMap((model) => modelTables(model, main)), ...pictures].join('\n\n') || none,
    variants: groupTable(groups.filter((group) => !isMain(group))),
    controls: controlTable(main),
    judge: judgeTable(main),
  }
}

const none = 'Nothing is measured yet.'

const titles: Record<string, string> = {
  [sessionsFile]: 'Sessions to target by method',
  [preferenceFile]: 'Nearness to the wish over the messages of the user',
}

function chartsOf(entries: readonly Entry[]): Record<string, string> {
  const groups = groupsOf(rowsOf(entries)).filter(
    ({ variant, wrongSignals }) => variant === '' && wrongSignals === 0,
  )
  if (groups.length === 0) return {}
  const preference = preferenceChart(
    groups.filter(({ setting }) => setting === 'separate'),
    ['hybrid+demos+practice', 'prompt-memory'],
  )
  return {
    [sessionsFile]: sessionsChart(groups),
    ...(preference === null ? {} : { [preferenceFile]: preference }),
  }
}

function stateText({ jobs, numbers, results }: LearningDocs): string {
  const possible = jobs.filter(isPossible)
  const done = possible.filter((job) => finished({ results, numbers }, job) !== null)
  const impossible = jobs.filter((job) => !isPossible(job)).map(jobName)
  const entries = results.all()
  const list = (of: readonly string[]): string => [...new Set(of)].join('; ')
  const spent = entries.reduce((sum, { seconds }) => sum + seconds, 0)
  const left = secondsLeft({ jobs, numbers, results })
  return [
    `**${done.length} of ${possible.length} parts of the plan are measured** (${hours(spent)} so far${left > 0 ? `, about ${hours(left)} left` : ''}).`,
    ...(impossible.length > 0 ? [`Not in this build: ${impossible.join('; ')}.`] : []),
    ...(entries.length > 0
      ? [
          `Machine: ${list(entries.map(({ machine }) => machine))}.`,
          `Sources: commit ${list(entries.map(({ commit }) => commit))}.`,
        ]
      : []),
    `Cap ${numbers.sessionsCap} sessions; a training where the app says that one is due, asked after every ${numbers.trainEvery === 1 ? 'session' : `${numbers.trainEvery} sessions`} (joint: of each persona), from the sixth time on half as often; ${numbers.firstReplies} bare first replies afterwards; ${numbers.controlReplies} neutral replies; drift on ${numbers.controlExchanges} neutral exchanges.`,
  ].join('\n\n')
}

function hours(seconds: number): string {
  return seconds < 5400
    ? `${Math.round(seconds / 60)} minutes`
    : `${(seconds / 3600).toFixed(1)} hours`
}

/** Markdown; the first column is to the left, figures to the right. */
function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return none
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function methodTable(): string {
  return markdown(
    ['method', 'what it is', 'trainer', 'demonstrations', 'practice', 'notes during sessions'],
    methodNames.map((name) => {
      const { meaning, trainer, demonstrations, practice, notes } = methodOf(name)
      const yes = (is: boolean): string => (is ? 'yes' : 'no')
      const place = notes === 'system' ? 'system prompt' : notes === null ? 'no' : 'last message'
      return [`\`${name}\``, meaning, trainer ?? '–', yes(demonstrations), yes(practice), place]
    }),
  )
}

function baseTable(entries: readonly Entry[]): string {
  const bases = entries.filter((entry) => entry.kind === 'base')
  const share = (outcomes: readonly boolean[]): string =>
    shareText([outcomes.filter(Boolean).length, outcomes.length])
  return markdown(
    ['model', 'persona', 'wish', 'by itself', 'with the hint'],
    bases.map(({ model, persona, wish, bare, told }) => [
      ...[model, persona, wish],
      ...[share(bare), share(told)],
    ]),
  )
}

/** One table for each setting: methods down, personas across, then the mean. */
function modelTables(model: string, groups: readonly Group[]): string[] {
  return (['separate', 'joint'] as const).flatMap((setting) => {
    const of = groups.filter((group) => group.model === model && group.setting === setting)
    if (of.length === 0) return []
    const people = [...new Set(of.map(({ persona }) => persona))]
    const methods = methodNames.filter((name) => of.some(({ method }) => method === name))
    const rows = methods.map((method) => {
      const cells = people.map((persona) => {
        const group = of.find((one) => one.method === method && one.persona === persona)
        return group === undefined ? '–' : sessionsText(group)
      })
      const rowsOfMethod = of.filter((one) => one.method === method).flatMap(({ rows }) => rows)
      const all = mean(rowsOfMethod.map(({ sessionsToTarget }) => sessionsToTarget))
      return [`\`${method}\``, ...cells, all.toFixed(1)]
    })
    return [
      `${model}, ${setting}: sessions to target, mean of seeds and each seed's own; \`24+\` is a run that did not get there within the cap.`,
      markdown(['method', ...people, 'mean of what is measured'], rows),
    ]
  })
}

function groupTable(groups: readonly Group[]): string {
  return markdown(
    ['model', 'setting', 'persona', 'method', 'sessions to target', 'first replies after'],
    groups.map((group) => [
      ...[group.model, group.setting, group.persona, methodText(group), sessionsText(group)],
      shareText(pooled(group.rows.map(({ firstReply }) => firstReply.after))),
    ]),
  )
}

function controlTable(groups: readonly Group[]): string {
  return markdown(
    ['persona', 'method', 'first replies before', 'after', 'KL', 'length', 'repeated', 'sums'],
    groups.map((group) => {
      const { rows } = group
      const control = rows.map((row) => row.control)
      return [
        group.setting === 'joint' ? `${group.persona} (joint)` : group.persona,
        group.method,
        shareText(pooled(rows.map(({ firstReply }) => firstReply.before))),
        shareText(pooled(rows.map(({ firstReply }) => firstReply.after))),
        mean(control.map(({ kl }) => kl)).toFixed(3),
        `${mean(control.map(({ lengthRatio }) => lengthRatio)).toFixed(2)}×`,
        `${(mean(control.map(({ repetition }) => repetition)) * 100).toFixed(0)}%`,
        sumsText(control),
      ]
    }),
  )
}

function sumsText(control: readonly Row['control'][]): string {
  const before = pooled(control.map(({ arithmetic }) => arithmetic.before))
  const after = pooled(control.map(({ arithmetic }) => arithmetic.after))
  const change = isWithinNoise(before, after) ? 'within noise' : 'changed'
  return `${before[0]} → ${after[0]} of ${after[1]}, ${change}`
}

function judgeTable(groups: readonly Group[]): string {
  return markdown(
    [
      ...['persona', 'method', 'judge agrees', 'hints say the wish'],
      ...['judge tokens a turn', 'judge s a turn', 'outside support', 'a training, s'],
    ],
    groups
      .filter(({ method }) => isMethodName(method))
      .map((group) => {
        const { rows } = group
        const sum = (of: (row: Row) => number): number =>
          rows.reduce((total, row) => total + of(row), 0)
        const turns = Math.max(
          1,
          sum(({ judge }) => judge.turns),
        )
        const runs = sum(({ training }) => training.runs)
        const outside = meanOf(rows.map(({ training }) => training.outsideMass))
        return [
          group.setting === 'joint' ? `${group.persona} (joint)` : group.persona,
          group.method,
          percentText(pooled(rows.map(({ judge }) => judge.agreed))),
          percentText(pooled(rows.map(({ hints }) => hints))),
          (sum(({ judge }) => judge.tokens) / turns).toFixed(0),
          (sum(({ judge }) => judge.seconds) / turns).toFixed(2),
          outside === null ? '–' : outside.toFixed(3),
          runs === 0 ? '–' : (sum(({ training }) => training.seconds) / runs).toFixed(0),
        ]
      }),
  )
}
