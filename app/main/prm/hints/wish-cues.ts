// Compiles resources/cues/wishes-*.json: how a wish about the form of a reply is said, language by language.
import en from '../../../../resources/cues/wishes-en.json' with { type: 'json' }
import zh from '../../../../resources/cues/wishes-zh.json' with { type: 'json' }

export interface WishCues {
  /** Greetings, politeness and complaints in front of the wish itself. */
  readonly lead: RegExp
  readonly tail: RegExp
  readonly action: RegExp
  /** What about the form of a reply is meant: words, lists, tone, steps … */
  readonly target: RegExp
  readonly vague: RegExp
  /** Openings of a request for new content. */
  readonly task: RegExp
  /** The same openings where they speak of how the last reply was given. */
  readonly taskStyle: RegExp
  /** The part of a repeated request that says how. */
  readonly constraint: RegExp
  readonly complaints: readonly (readonly [RegExp, string])[]
  readonly rewrites: readonly (readonly [RegExp, string])[]
}

function compile(table: typeof en | typeof zh): WishCues {
  const regex = (source: string): RegExp => new RegExp(source, 'iu')
  const pairs = (rows: readonly (readonly string[])[]): (readonly [RegExp, string])[] =>
    rows.map(([source = '', result = '']) => [regex(source), result] as const)
  return {
    lead: regex(`^(?:${table.lead.join('|')})`),
    tail: regex(table.tail),
    action: regex(table.action),
    target: regex(table.target),
    vague: regex(table.vague),
    task: regex(table.task),
    taskStyle: regex(table.taskStyle),
    constraint: regex(table.constraint),
    complaints: pairs(table.complaints),
    rewrites: pairs(table.rewrites),
  }
}

export const wishCues: readonly WishCues[] = [compile(en), compile(zh)]

export function matchesAny(
  key: 'action' | 'target' | 'vague' | 'task' | 'taskStyle',
  text: string,
): boolean {
  return wishCues.some((cues) => cues[key].test(text))
}
