// The command line: single runs by default, the whole plan as `table`.
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { Command, InvalidArgumentError, Option } from 'commander'
import { trainingConfigSchema } from '../app/shared/domain/training.ts'
import { AppError } from '../app/shared/errors.ts'
import { defaultModelPath } from '../test/support/model.ts'
import { isMethodName, methodNames, requireOffered, type MethodName } from './methods.ts'
import { findPersona, personas } from './personas/index.ts'
import {
  baseJobs,
  fullNumbers,
  quickNumbers,
  tableMethods,
  tablePlan,
  trialJob,
  type Job,
  type Numbers,
} from './plan.ts'
import type { TrialConfig } from './trial.ts'

export interface EvalOptions {
  readonly jobs: readonly Job[]
  readonly numbers: Numbers
  /** Base model of the plan. */
  readonly modelPath: string
  /** The file that finished parts are appended to; null = in memory only. */
  readonly resultsPath: string | null
  readonly json: string | null
  readonly keep: string | null
  readonly budgetSeconds: number | null
  /** Parts that run at the same time, each on a core of its own; null = one on all cores. */
  readonly cores: number | null
  /** An endpoint or a GGUF that words the complaints; null = templates do. */
  readonly userModel: string | null
  readonly writeDocs: boolean
  /** Only print the plan. */
  readonly list: boolean
}

interface CommonFlags {
  persona: string
  sessionsCap?: number
  trainEvery?: number
  firstReplies?: number
  controlReplies?: number
  baseReplies?: number
  wording: TrialConfig['wording']
  model?: string
  results?: string
  json?: string
  keep?: string
  budgetMinutes?: number
  parallel?: number
  userModel?: string
  list?: true
}

interface SingleFlags extends CommonFlags {
  method?: MethodName[]
  seeds: number
  joint?: true
  wrongSignals: number
  quick?: true
  k?: number
  support?: TrialConfig['overrides']['support']
  selection?: TrialConfig['overrides']['selection']
  clip?: number
  teacher?: TrialConfig['overrides']['teacher']
}

interface TableFlags extends CommonFlags {
  methods: MethodName[]
  seeds: number
  secondModel?: string
  only?: TrialConfig['setting']
  writeDocs?: true
}

/** Finished parts of the table; `.cache` is not part of the sources. */
const tableResults = '.cache/eval/table.jsonl'
const quickBudgetSeconds = 19 * 60
/** A night; what is left then is for the next start. */
const tableBudgetSeconds = 8 * 3600

/** Reads the command line; exits with a message of its own on `--help` and on wrong flags. */
export function readOptions(argv: readonly string[]): EvalOptions {
  const plans: EvalOptions[] = []
  const program = singleCommand((flags) => void plans.push(singleOptions(flags)))
  program.enablePositionalOptions()
  program.addCommand(tableCommand((flags) => void plans.push(tableOptions(flags))))
  program.parse(argv)
  const [options] = plans
  if (options === undefined) throw new AppError('internal', 'the command line gave no plan')
  return options
}

function singleCommand(action: (flags: SingleFlags) => void): Command {
  const { selection, support, teacher } = trainingConfigSchema.shape
  const command = new Command('eval')
    .description('Lets simulated users talk with the real app and measures what it learned.')
    .option('--method <names>', `how it learns: ${methodNames.join(', ')}`, methodList)
    .option('--seeds <n>', 'repeat with seeds 1 to n', positive, 1)
    .option('--joint', 'the personas take turns in one data folder')
    .option('--wrong-signals <share>', 'share of reactions that are the wrong way round', share, 0)
    .option('--quick', 'the main methods with few replies and sessions, in at most 20 minutes')
    .option('--k <n>', 'K of the overlap and of the support', positive)
    .addOption(new Option('--support <name>', 'tokens of distillation').choices(support.options))
    .addOption(new Option('--selection <name>', 'choice of the hint').choices(selection.options))
    .option('--clip <nats>', 'bound of the log-probability difference in distillation', above0)
    .addOption(new Option('--teacher <name>', 'who sees the hint').choices(teacher.options))
  return withCommonFlags(command, 'brief').action(action)
}

function tableCommand(action: (flags: TableFlags) => void): Command {
  const command = new Command('table')
    .description('Runs the whole plan, most telling rows first; can be stopped and started again.')
    .option('--methods <names>', 'methods of the main rows', methodList, [...tableMethods])
    .option('--seeds <n>', 'seeds of the main rows', positive, 3)
    .option('--second-model <file>', 'a larger GGUF, for the personas ta, teacher, shell-first')
    .option('--write-docs', 'put the results into docs/learning.md')
    .addOption(new Option('--only <setting>', 'one setting').choices(['separate', 'joint']))
  return withCommonFlags(command, 'all').action(action)
}

function withCommonFlags(command: Command, defaultPersona: string): Command {
  const known = personas.map(({ name }) => name).join(', ')
  return command
    .option('--persona <names>', `${known}, several with commas, or all`, defaultPersona)
    .option('--sessions-cap <n>', 'give up after this many sessions (24; quick: 10)', positive)
    .option(
      '--train-every <n>',
      'a training may follow every so many sessions of each persona (1)',
      positive,
    )
    .option('--first-replies <n>', 'bare first replies afterwards (24; quick: 12)', positive)
    .option('--base-replies <n>', 'bare first replies of the base (50; quick: 12)', positive)
    .option('--control-replies <n>', 'neutral prompts asked afterwards (20; quick: 8)', positive)
    .addOption(
      new Option('--wording <which>', 'which complaints are said')
        .choices(['open', 'held-out', 'all'])
        .default('all'),
    )
    .option('--user-model <where>', 'an OpenAI-compatible address or a GGUF that words complaints')
    .option('--model <file>', 'GGUF of the base model (default: the one npm start fetched)')
    .option('--results <file>', 'finished parts are kept here and not run again')
    .option(
      '--budget-minutes <n>',
      'start no part that would end later (table: 480; quick: 19)',
      positive,
    )
    .option('--parallel <n>', 'run n parts at a time, each bound to a core (Linux)', positive)
    .option('--json <file>', 'write the result as JSON')
    .option('--keep <dir>', 'keep the data folders of the runs here')
    .option('--list', 'print the plan with its estimated times and run nothing')
    .allowExcessArguments(false)
}

function singleOptions(flags: SingleFlags): EvalOptions {
  const modelPath = findModel(flags.model)
  const base = flags.quick === true ? quickNumbers : fullNumbers
  const numbers = numbersOf(base, flags)
  const people = personaNames(flags.persona)
  const methods = flags.method ?? (flags.quick ? quickMethods : [defaultMethod])
  methods.forEach(requireOffered)
  const seeds = Array.from({ length: flags.seeds }, (_, index) => index + 1)
  const common = { modelPath, numbers, wording: flags.wording, user: userName(flags) }
  const varied = { wrongSignals: flags.wrongSignals, overrides: overridesOf(flags) }
  const groups = flags.joint === true ? [people] : people.map((name) => [name])
  const setting = flags.joint === true ? 'joint' : 'separate'
  const trials = methods.flatMap((method) =>
    groups.flatMap((group) =>
      seeds.map((seed) => trialJob(common, { ...varied, setting, personas: group, method, seed })),
    ),
  )
  return {
    ...sharedOptions(flags),
    ...{ modelPath, numbers },
    jobs: [...baseJobs(modelPath, people), ...trials],
    writeDocs: false,
    resultsPath: flags.results ?? null,
    budgetSeconds: budgetOf(flags) ?? (flags.quick ? quickBudgetSeconds : null),
  }
}

/** As the app learns by default, but for the notes in the prompt. */
const defaultMethod: MethodName = 'hybrid+demos+practice'
const quickMethods: readonly MethodName[] = [defaultMethod, 'prompt-memory', 'grpo', 'none', 'full']

function tableOptions(flags: TableFlags): EvalOptions {
  const modelPath = findModel(flags.model)
  const numbers = numbersOf(fullNumbers, flags)
  const settings = flags.only === undefined ? (['separate', 'joint'] as const) : [flags.only]
  const jobs = tablePlan({
    ...{ modelPath, numbers, settings, wording: flags.wording, user: userName(flags) },
    personas: personaNames(flags.persona),
    methods: flags.methods,
    seeds: flags.seeds,
    secondModelPath: flags.secondModel === undefined ? null : existing(flags.secondModel),
  })
  return {
    ...sharedOptions(flags),
    ...{ modelPath, numbers, jobs },
    writeDocs: flags.writeDocs === true,
    resultsPath: flags.results ?? tableResults,
    budgetSeconds: budgetOf(flags) ?? tableBudgetSeconds,
  }
}

function sharedOptions(flags: CommonFlags) {
  return {
    json: flags.json ?? null,
    keep: flags.keep ?? null,
    userModel: flags.userModel ?? null,
    cores: coresOf(flags),
    list: flags.list === true,
  }
}

function numbersOf(base: Numbers, flags: CommonFlags): Numbers {
  const firstReplies = flags.firstReplies ?? base.firstReplies
  return {
    ...base,
    firstReplies,
    sessionsCap: flags.sessionsCap ?? base.sessionsCap,
    trainEvery: flags.trainEvery ?? base.trainEvery,
    trainEveryJoint: flags.trainEvery ?? base.trainEveryJoint,
    // Before and after are compared on the same requests.
    baseReplies: Math.max(firstReplies, flags.baseReplies ?? base.baseReplies),
    controlReplies: flags.controlReplies ?? base.controlReplies,
  }
}

function overridesOf(flags: SingleFlags): TrialConfig['overrides'] {
  return {
    ...(flags.k === undefined ? {} : { topK: flags.k }),
    ...(flags.support === undefined ? {} : { support: flags.support }),
    ...(flags.selection === undefined ? {} : { selection: flags.selection }),
    ...(flags.clip === undefined ? {} : { differenceClip: flags.clip }),
    ...(flags.teacher === undefined ? {} : { teacher: flags.teacher }),
  }
}

function budgetOf({ budgetMinutes }: CommonFlags): number | null {
  return budgetMinutes === undefined ? null : budgetMinutes * 60
}

function coresOf({ parallel }: CommonFlags): number | null {
  if (parallel === undefined) return null
  if (process.platform !== 'linux') {
    throw new AppError('unsupported', '--parallel needs taskset, which only Linux has')
  }
  const cores = availableParallelism()
  if (parallel <= cores) return parallel
  throw new AppError(
    'invalid-input',
    `--parallel ${parallel} needs as many cores; there are ${cores}`,
  )
}

function userName({ userModel }: CommonFlags): string {
  if (userModel === undefined) return 'templates'
  return /^https?:/.test(userModel) ? userModel : (userModel.split(/[\\/]/).at(-1) ?? userModel)
}

function personaNames(text: string): string[] {
  if (text === 'all') return personas.map(({ name }) => name)
  const wanted = text.split(',').map((name) => findPersona(name).name)
  return personas.map(({ name }) => name).filter((name) => wanted.includes(name))
}

function findModel(given: string | undefined): string {
  const path = given ?? defaultModelPath()
  if (path !== null) return existing(path)
  throw new AppError(
    'not-found',
    'no model: give --model FILE.gguf or HONE_MODEL, or run npm start once to fetch the default one',
  )
}

function existing(path: string): string {
  if (existsSync(path)) return resolve(path)
  throw new AppError('not-found', `there is no file ${path}`)
}

function methodList(text: string): MethodName[] {
  return text.split(',').map((name) => {
    if (isMethodName(name)) return name
    throw new InvalidArgumentError(`“${name}” is no method; known are ${methodNames.join(', ')}`)
  })
}

function positive(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value >= 1) return value
  throw new InvalidArgumentError('expected a whole number from 1')
}

function above0(text: string): number {
  const value = Number(text)
  if (value > 0 && Number.isFinite(value)) return value
  throw new InvalidArgumentError('expected a number above 0')
}

function share(text: string): number {
  const value = Number(text)
  if (value >= 0 && value <= 1) return value
  throw new InvalidArgumentError('expected a number from 0 to 1')
}
