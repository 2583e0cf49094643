import { createRandom, pick, shuffled, type Random } from '../random.ts'

/** Two thirds were open to whoever tuned rules and prompts of the app; one third was kept back. */
export interface Templates {
  readonly open: readonly string[]
  readonly heldOut: readonly string[]
}

/** Which complaints a simulated user may say. */
export type Wording = 'open' | 'held-out' | 'all'

export interface Check {
  readonly satisfied: boolean
  /** How near the reply comes to the wish, 0–1; 1 exactly where it is satisfied. */
  readonly score: number
  /** The fact in words, for logs: `87 words`. */
  readonly detail: string
}

/** A piece of homework on its way from the Student over the TA to the Teacher. */
export interface Work {
  readonly question: string
  readonly solution: string
  /** What the TA wrote under it; null until graded. */
  readonly comments: string | null
}

/** One session as the next persona in the chain gets to see it. */
export interface Exchange {
  readonly request: string
  /** The reply that the session ended with. */
  readonly reply: string
}

/** A simulated user's wish. Its rule lives here and nowhere in the app. */
export interface Persona {
  readonly name: string
  /** For people who read the table. */
  readonly wish: string
  /** The wish as one plain hint, for measuring what the base does once told. */
  readonly hint: string
  /** At least 200 distinct requests: the measured ones first, the same for every seed, then the sessions'. */
  requests(seed: number): string[]
  check(reply: string): Check
  /** Whether a hint that the app drew from the user's words says what this user wants. */
  expresses(hint: string): boolean
  readonly complaints: Templates
  /** What a session leaves for the next persona of a joint run; `work` is what it was about. */
  readonly passesOn?: (exchange: Exchange, work: Work | null) => Work | null
  /** The request about what another persona's session has left; null where that is not enough. */
  readonly takesUp?: (work: Work, random: Random) => string | null
}

export interface RequestPlan {
  /** First requests of the sessions. */
  readonly sessions: readonly string[]
  /** Requests of the bare first replies before and after: never asked in a session. */
  readonly measured: readonly string[]
}

const thanks = [
  'Thanks!',
  'Thank you, that is exactly what I wanted.',
  'Perfect, thanks.',
  'Great, that is what I needed.',
  'Lovely, thank you.',
  'Thanks, much appreciated.',
  'Yes, just like that. Thank you!',
  'Nice, that works for me.',
  'That is perfect.',
  'Wonderful, thanks a lot.',
]

const otherTopics = [
  'By the way, can you suggest a name for a goldfish?',
  'Something else: which day comes after Friday?',
  'On another note, what could I cook with potatoes tonight?',
  'Different question: how far is it from Paris to Rome?',
  'Now for something different. Tell me a riddle.',
]

export function thanksLine(random: Random): string {
  return pick(random, thanks)
}

export function otherTopicLine(random: Random): string {
  return pick(random, otherTopics)
}

export function complaintLines(persona: Persona, wording: Wording): readonly string[] {
  const { open, heldOut } = persona.complaints
  if (wording === 'open') return open
  return wording === 'held-out' ? heldOut : [...open, ...heldOut]
}

/** So many requests of each persona are never asked in a session. */
export const measuredRequests = 60

/** Splits a persona's requests so that what is measured was never asked in a session. */
export function planRequests(persona: Persona, seed: number, measured: number): RequestPlan {
  const requests = persona.requests(seed)
  if (measured > measuredRequests || requests.length <= measuredRequests) {
    throw new RangeError(
      `${persona.name} keeps ${measuredRequests} of its ${requests.length} requests for measuring; ${measured} were asked for`,
    )
  }
  return { measured: requests.slice(0, measured), sessions: requests.slice(measuredRequests) }
}

/**
 * Items as requests: the measured ones in an order that is always the same, the others in that of the seed.
 * `number` tells personas apart, so that two with the same items do not measure the same ones.
 */
export function inOrder<Item>(
  { seed, number }: { readonly seed: number; readonly number: number },
  items: readonly Item[],
  make: (random: Random, item: Item) => string,
): string[] {
  const always = createRandom(number)
  const pool = shuffled(always, items)
  const ofSeed = createRandom(seed * 7919 + number)
  return [
    ...pool.slice(0, measuredRequests).map((item) => make(always, item)),
    ...shuffled(ofSeed, pool.slice(measuredRequests)).map((item) => make(ofSeed, item)),
  ]
}

/** A way to ask about items, picked from phrasings with a `{}`. */
export function phrasedWith(phrasings: readonly string[]) {
  return (random: Random, item: string): string => pick(random, phrasings).replace('{}', () => item)
}

/** Runs of letters and digits with inner apostrophes and hyphens; each Chinese character counts as one. */
export function countWords(text: string): number {
  return text.match(/\p{Script=Han}|[\p{L}\p{N}]+(?:['’.,-][\p{L}\p{N}]+)*/gu)?.length ?? 0
}
