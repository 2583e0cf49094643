import { pick, shuffled, type Random } from '../random.ts'

/** Two thirds were open to whoever tuned rules and prompts of the app; one third was kept back. */
export interface Templates {
  readonly open: readonly string[]
  readonly heldOut: readonly string[]
}

/** Which complaints a simulated user may say. */
export type Wording = 'open' | 'held-out' | 'all'

export interface Check {
  readonly satisfied: boolean
  /** The fact in words, for logs: `87 words`. */
  readonly detail: string
}

/** A simulated user's wish. Its rule lives here and nowhere in the app. */
export interface Persona {
  readonly name: string
  /** For people who read the table. */
  readonly wish: string
  /** The wish as one plain hint, for measuring what the base does once told. */
  readonly hint: string
  /** At least 200 distinct requests in an order that depends on the seed only. */
  requests(seed: number): string[]
  check(reply: string): Check
  readonly complaints: Templates
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

/** Splits a persona's requests so that what is measured was never asked in a session. */
export function planRequests(persona: Persona, seed: number, measured: number): RequestPlan {
  const requests = persona.requests(seed)
  if (requests.length <= measured) {
    throw new RangeError(
      `${persona.name} has ${requests.length} requests, which leaves none for sessions after ${measured} measured ones`,
    )
  }
  return { measured: requests.slice(0, measured), sessions: requests.slice(measured) }
}

/** Puts each item into one of the phrasings, in an order that depends on the random stream. */
export function phrase(
  random: Random,
  items: readonly string[],
  phrasings: readonly string[],
): string[] {
  return shuffled(random, items).map((item) => pick(random, phrasings).replace('{}', () => item))
}

/** Runs of letters and digits with inner apostrophes and hyphens; each Chinese character counts as one. */
export function countWords(text: string): number {
  return text.match(/\p{Script=Han}|[\p{L}\p{N}]+(?:['’.,-][\p{L}\p{N}]+)*/gu)?.length ?? 0
}
