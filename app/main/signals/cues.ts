// Compiles the tables of cues in resources/cues. A cue is the source of a regular expression over a sentence in
// lower case; `#` stands for a number in digits or words. Other languages add a table of the same shape.
import en from '../../../resources/cues/en.json' with { type: 'json' }
import zh from '../../../resources/cues/zh.json' with { type: 'json' }

export interface CueSource {
  /** At the beginning of a sentence, after fillers. */
  readonly start: readonly string[]
  /** The sentence and nothing else but fillers and marks. */
  readonly whole: readonly string[]
  readonly anywhere: readonly string[]
  /** Sentences that look like the cue and are not. */
  readonly except: readonly string[]
}

export interface Language {
  readonly contrast: RegExp
  readonly contrastExcept: RegExp
  readonly later: RegExp
  readonly backReference: RegExp
  readonly correction: CueMatcher
  readonly change: CueMatcher
  readonly approval: CueMatcher
  readonly topic: CueMatcher
  /** A limit of length: a change request unless it comes with a new task. */
  readonly limit: CueMatcher
  /** The user tells that the reply was of use, without praising it. */
  readonly success: CueMatcher
  /** The user doubts, does not understand or contradicts, without saying "wrong". */
  readonly doubt: CueMatcher
  /** Goes on from where the reply ended. */
  readonly continues: CueMatcher
}

/** The words that matched, or null. */
export type CueMatcher = (sentence: string) => string | null

const maxSentenceCharacters = 400
const number =
  '(?:\\d{1,5}|[一两二三四五六七八九十百千]{1,6}|one|two|three|four|five|six|seven|eight|nine|ten|fifteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|a hundred|one hundred|two hundred)'

function compileCues(cues: CueSource, filler: string): CueMatcher {
  const lead = `^(?:${filler}[\\s,.!，。！、:;-]{0,6}){0,6}`
  const join = (sources: readonly string[]): string =>
    `(?:${sources.map((source) => source.replaceAll('#', number)).join('|')})`
  const accepted = [
    ...(cues.start.length > 0 ? [new RegExp(lead + join(cues.start), 'u')] : []),
    ...(cues.whole.length > 0
      ? [new RegExp(`${lead}${join(cues.whole)}[\\s,.!?，。！？~…]*$`, 'u')]
      : []),
    ...(cues.anywhere.length > 0 ? [new RegExp(join(cues.anywhere), 'u')] : []),
  ]
  const refused = cues.except.length > 0 ? new RegExp(join(cues.except), 'u') : null
  return (sentence) => {
    const text = sentence.slice(0, maxSentenceCharacters)
    if (refused?.test(text) === true) return null
    for (const pattern of accepted) {
      const match = pattern.exec(text)
      if (match !== null) return match[0].trim()
    }
    return null
  }
}

function compileLanguage(table: typeof en | typeof zh): Language {
  return {
    contrast: new RegExp(table.contrast, 'u'),
    contrastExcept: new RegExp(table.contrastExcept, 'u'),
    later: new RegExp(table.later, 'u'),
    backReference: new RegExp(table.backReference, 'u'),
    correction: compileCues(table.correction, table.filler),
    change: compileCues(table.change, table.filler),
    approval: compileCues(table.approval, table.filler),
    topic: compileCues(table.topic, table.filler),
    limit: compileCues(table.limit, table.filler),
    success: compileCues(table.success, table.filler),
    doubt: compileCues(table.doubt, table.filler),
    continues: compileCues(table.continues, table.filler),
  }
}

export const languages: readonly Language[] = [compileLanguage(en), compileLanguage(zh)]

/** The first language's match. */
export function firstCue(kind: CueKind, sentence: string): string | null {
  for (const language of languages) {
    const cue = language[kind](sentence)
    if (cue !== null) return cue
  }
  return null
}
export type CueKind =
  'correction' | 'change' | 'approval' | 'topic' | 'limit' | 'success' | 'doubt' | 'continues'
