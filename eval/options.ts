import { Command, InvalidArgumentError, Option } from 'commander'
import { defaultModelPath } from '../test/support/model.ts'
import { AppError } from '../app/shared/errors.ts'
import { findPersona, personas } from './personas/index.ts'
import type { Persona, Wording } from './personas/persona.ts'

export const methods = ['none', 'prompt-memory', 'grpo', 'opd', 'hybrid'] as const
export type Method = (typeof methods)[number]

export interface EvalOptions {
  readonly personas: readonly Persona[]
  readonly seeds: number
  readonly sessionsCap: number
  readonly trainEvery: number
  readonly method: Method
  readonly scaffold: boolean
  readonly firstReplies: number
  /** Exchanges of the neutral control. */
  readonly controlExchanges: number
  readonly wording: Wording
  readonly wrongSignals: number
  readonly modelPath: string
  readonly json: string | null
  readonly keep: string | null
}

interface Flags {
  persona: string
  seeds: number
  sessionsCap: number
  trainEvery: number
  method: Method
  scaffold?: true
  firstReplies?: number
  wording: Wording
  wrongSignals: number
  model?: string
  json?: string
  keep?: string
  quick?: true
}

/** Reads the command line; exits with a message of its own on `--help` and on wrong flags. */
export function readOptions(argv: readonly string[]): EvalOptions {
  const flags = command().parse(argv).opts<Flags>()
  return {
    personas: flags.persona === 'all' ? personas : flags.persona.split(',').map(findPersona),
    seeds: flags.seeds,
    sessionsCap: flags.quick ? Math.min(12, flags.sessionsCap) : flags.sessionsCap,
    trainEvery: flags.trainEvery,
    method: flags.method,
    scaffold: flags.scaffold ?? false,
    firstReplies: flags.firstReplies ?? (flags.quick ? 16 : 50),
    controlExchanges: flags.quick ? 16 : 50,
    wording: flags.wording,
    wrongSignals: flags.wrongSignals,
    modelPath: findModel(flags.model),
    json: flags.json ?? null,
    keep: flags.keep ?? null,
  }
}

function command(): Command {
  const known = personas.map(({ name }) => name).join(', ')
  return new Command('eval')
    .description('Lets simulated users talk with the real app and measures what it learned.')
    .option('--persona <names>', `${known}, several with commas, or all`, 'brief')
    .option('--seeds <n>', 'repeat with seeds 1 to n', positive, 1)
    .option('--sessions-cap <n>', 'give up after this many sessions', positive, 24)
    .option('--train-every <n>', 'sessions between trainings', positive, 2)
    .addOption(
      new Option('--method <name>', 'how it learns').choices(methods).default('hybrid' as Method),
    )
    .option('--scaffold', 'approved notes also help in the prompt during the sessions')
    .option('--first-replies <n>', 'bare first replies before and after (50; quick: 16)', positive)
    .addOption(
      new Option('--wording <which>', 'which complaints are said')
        .choices(['open', 'held-out', 'all'])
        .default('all'),
    )
    .option('--wrong-signals <share>', 'share of reactions that are the wrong way round', share, 0)
    .option('--model <file>', 'GGUF of the base model (default: the one npm start fetched)')
    .option('--json <file>', 'write the result as JSON')
    .option('--keep <dir>', 'keep the data folders of the runs here')
    .option('--quick', 'fewer replies and sessions')
    .allowExcessArguments(false)
}

function findModel(given: string | undefined): string {
  const path = given ?? defaultModelPath()
  if (path === null) {
    throw new AppError(
      'not-found',
      'no model: give --model FILE.gguf or HONE_MODEL, or run npm start once to fetch the default one',
    )
  }
  return path
}

function positive(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) {
    throw new InvalidArgumentError('expected a whole number from 1')
  }
  return value
}

function share(text: string): number {
  const value = Number(text)
  if (!(value >= 0 && value <= 1)) throw new InvalidArgumentError('expected a number from 0 to 1')
  return value
}
