// Several sequences in one pass: side by side, each seeing only itself, or behind a prefix that they share and that
// is computed once. Which keys a token sees is data (a start and a prefix per token), so the graph stays the same.
import type { SequenceRequest } from '../types.ts'

type Sequence = Pick<SequenceRequest, 'tokens' | 'responseStart'>

export interface Batch {
  /** Input tokens; the last token of each sequence is only predicted, never an input. [T], padded. */
  readonly tokens: Int32Array
  readonly positions: Int32Array // [T]
  /** First key after the prefix that a token sees. */
  readonly starts: Int32Array // [T]
  /** It also sees the keys before this one. */
  readonly prefixes: Int32Array // [T]
  /** Positions of each sequence that predict its response. */
  readonly rows: readonly { readonly first: number; readonly count: number }[]
}

/** ggml's fast products need inner sizes that are multiples of 16; padding sees only itself. */
const tokenMultiple = 16

/** A shorter common beginning is not worth a special layout. */
const shortestPrefix = 16

/** Tokens that all sequences begin with and that lie before every response. */
export function sharedPrefix(sequences: readonly Sequence[]): number {
  const [first] = sequences
  if (first === undefined || sequences.length < 2) return 0
  // The token before the response predicts it, so it belongs to the sequence itself.
  let length = Math.min(...sequences.map(({ responseStart }) => responseStart - 1))
  for (const { tokens } of sequences) {
    let same = 0
    while (same < length && tokens[same] === first.tokens[same]) same += 1
    length = same
  }
  return length < shortestPrefix ? 0 : length
}

export function layOut(sequences: readonly Sequence[], prefix = 0): Batch {
  const inputs = sequences.map(({ tokens }) => tokens.length - 1 - prefix)
  const used = prefix + inputs.reduce((sum, count) => sum + count, 0)
  const T = Math.ceil(used / tokenMultiple) * tokenMultiple
  const batch = {
    tokens: new Int32Array(T),
    positions: new Int32Array(T),
    // Padding starts at itself.
    starts: Int32Array.from({ length: T }, (_, t) => t),
    prefixes: new Int32Array(T),
    rows: [] as { first: number; count: number }[],
  }
  batch.tokens.set(sequences[0]?.tokens.subarray(0, prefix) ?? [])
  for (let t = 0; t < prefix; t += 1) batch.positions[t] = t
  batch.starts.fill(0, 0, prefix)
  let at = prefix
  sequences.forEach(({ tokens, responseStart }, i) => {
    const count = inputs[i] ?? 0
    batch.tokens.set(tokens.subarray(prefix, prefix + count), at)
    for (let t = 0; t < count; t += 1) batch.positions[at + t] = prefix + t
    batch.starts.fill(at, at, at + count)
    batch.prefixes.fill(prefix, at, at + count)
    batch.rows.push({
      first: at + responseStart - 1 - prefix,
      count: tokens.length - responseStart,
    })
    at += count
  })
  return batch
}

/** The places of a view with a window: a token sees the last `window` keys, itself included. */
export function placesOf(batch: Batch, window: number | null): Int32Array {
  const T = batch.tokens.length
  const places = new Int32Array(2 * T)
  for (let t = 0; t < T; t += 1) {
    const start = batch.starts[t] ?? t
    places[2 * t] = window === null ? start : Math.max(start, t - window + 1)
    places[2 * t + 1] = batch.prefixes[t] ?? 0
  }
  return places
}

/** Indices of sequences that go together, in order, with the prefix that they share. */
export interface Pack {
  readonly members: readonly number[]
  readonly prefix: number
}

/** As many neighbours as fit `limit` tokens, where `mayJoin` allows it; a longer one stands alone. */
export function packsOf(
  sequences: readonly Sequence[],
  options: {
    readonly limit: number
    readonly sharesPrefix: boolean
    readonly mayJoin: (index: number, other: number) => boolean
  },
): Pack[] {
  const packs: Pack[] = []
  sequences.forEach((_, index) => {
    const last = packs.at(-1)
    const head = last?.members[0]
    if (last !== undefined && head !== undefined && options.mayJoin(head, index)) {
      const members = [...last.members, index]
      const chosen = members.flatMap((member) => sequences[member] ?? [])
      const prefix = options.sharesPrefix ? sharedPrefix(chosen) : 0
      const own = chosen.reduce((sum, { tokens }) => sum + tokens.length - 1 - prefix, 0)
      if (prefix + own <= options.limit) {
        packs[packs.length - 1] = { members, prefix }
        return
      }
    }
    packs.push({ members: [index], prefix: 0 })
  })
  return packs
}
