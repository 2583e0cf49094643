// Runs one of our kernels on given numbers inside an arena laid out to find faults: words of a known pattern before
// and after every place, scratch and packed matrices full of NaN before use, results full of NaN before the run.
import {
  Allocator,
  Arena,
  Graph,
  Runtime,
  shapeOf,
  type KernelCall,
  type Kernels,
  type OperatorName,
  type Panels,
  type Slot,
  type Tensor,
} from '../../../app/main/engine/ffi/index.ts'
import { ops } from '../../../app/main/engine/ffi/index.ts'
import { at, type Numbers } from './plain.ts'

export type Values = Readonly<Record<string, Float32Array | Int32Array>>
export type Results = Readonly<Record<string, Float32Array>>
type Shapes = Readonly<Record<string, readonly number[]>>

export interface Operands {
  readonly inputs: Readonly<Record<string, Tensor>>
  readonly panels: Readonly<Record<string, Panels>>
  /** Where results beside the operator's own go. */
  readonly beside: Readonly<Record<string, Tensor>>
}

export interface Rounding {
  /** Largest relative difference, with the reason beside it. */
  readonly bound: number
  /** How many differences are independent: those of one row may share a rounded factor. */
  readonly independent: number
  /** Only what is given is rounded: numbers that bf16 holds then give results as close as in f32. */
  readonly givenOnly?: boolean
}

export interface KernelCase {
  readonly operator: OperatorName
  readonly name: string
  /** What the definition takes beside tensors; read by make_op_reference.py. */
  readonly parameters?: Readonly<Record<string, number | string | boolean>>
  /** Shapes of plain inputs, fastest axis first; those in `strided` lie in wider rows. */
  readonly inputs: Shapes
  readonly strided?: readonly string[]
  /** Packed matrices, [columns, rows]. A name that ends in ᵀ is made from the one without by `Kernels.transpose`. */
  readonly matrices?: Shapes
  readonly result: readonly number[]
  readonly beside?: Shapes
  /** The input whose place takes the result. */
  readonly inPlace?: string
  readonly scratch: { readonly tokens: number; readonly headSize: number; readonly width: number }
  readonly values: Values
  /** The same values after a change of some, with those that follow from others made anew. */
  complete?(values: Values): Values
  /** One node, or several that write parts of the result. */
  build(g: Graph, call: KernelCall, operands: Operands): Tensor | readonly Tensor[]
  /** What is expected of these values in f64. */
  plain(values: Values): Readonly<Record<string, Numbers>>
  /** What is compared with `plain`; default: the result as `y`, and what lies beside it. */
  derive?(results: Results, values: Values): Readonly<Record<string, Numbers>>
  /** What rounding to bf16 may change; null = this operator rounds nothing. */
  readonly rounding: Rounding | null
  /** Derived numbers that rounding may change altogether. */
  readonly discrete?: readonly string[]
}

/** NaN, so that reading it is seen, with a payload that no operation makes. */
const guardWord = 0x7fdeadbe
const nanWord = -1
const guardWords = 16
const pad = 5

interface Place {
  readonly name: string
  readonly raw: Slot
  /** Within `raw`. */
  readonly slot: () => Slot
  readonly columns: number
  readonly wide: number
  readonly count: number
}

export class KernelBench implements Disposable {
  readonly runtime = new Runtime({ threads: 2 })
  readonly #allocator = new Allocator(this.runtime)

  /** The results, and what was written outside of them. */
  async run(
    kernels: Kernels,
    test: KernelCase,
    { values = test.values, threads = 2 }: { values?: Values; threads?: number } = {},
  ): Promise<{ readonly results: Results; readonly damage: readonly string[] }> {
    this.runtime.setThreads(threads)
    using arena = new Arena(this.runtime)
    const inputs = placesOf(arena, test.inputs, test.strided)
    const targets = placesOf(arena, { y: test.result, ...test.beside })
    const panels = Object.entries(test.matrices ?? {}).map(([name, [columns = 0, rows = 0]]) => {
      return { name, panels: kernels.plan(arena, [rows, columns]), after: arena.plan([guardWords]) }
    })
    const scratch = kernels.planScratch(arena, test.scratch)
    const afterScratch = arena.plan([guardWords])
    arena.commit()
    using g = new Graph(this.runtime)
    const write = (slot: Slot, words: Int32Array): void => this.runtime.write(g.leaf(slot), words)
    const guards = [...panels.map(({ name, after }) => ({ name, after })), afterOf(afterScratch)]
    for (const { after } of guards) write(after, wordsOf(guardWords, guardWord))
    write(scratch, wordsOf(scratch.shape[0] * scratch.shape[1], nanWord))
    for (const { name, panels: matrix } of panels) {
      write(matrix.slot, wordsOf(matrix.slot.shape[0], nanWord))
      this.#pack(kernels, { name, matrix, all: panels, values })
    }
    for (const place of targets) write(place.raw, surrounded(place, null))
    const filled = inputs.map((place) => ({ place, words: surrounded(place, values[place.name]) }))
    for (const { place, words } of filled) write(place.raw, words)
    const leaf = (place: Place): Tensor => narrowed(g, place)
    const leaves = inputs.map((place) => [place.name, leaf(place)] as const)
    const [y, ...beside] = targets
    if (y === undefined) throw new Error('no result')
    const built = test.build(
      g,
      { kernels, scratch },
      {
        inputs: Object.fromEntries(leaves),
        panels: Object.fromEntries(panels.map(({ name, panels: matrix }) => [name, matrix])),
        beside: Object.fromEntries(beside.map((place) => [place.name, leaf(place)])),
      },
    )
    const result = inputs.find(({ name }) => name === test.inPlace) ?? y
    for (const node of [built].flat()) g.into(result.slot(), node)
    await g.run(this.#allocator, { budget: Infinity, before: async () => undefined })
    const read = (slot: Slot): Int32Array =>
      this.runtime.read(g.leaf(slot), new Int32Array(slot.shape[0]))
    const damage = [
      ...guards.filter(({ after }) => !read(after).every(isGuard)).map(({ name }) => name),
      ...filled
        .filter(({ place, words }) => place !== result && !same(read(place.raw), words))
        .map(({ place }) => place.name),
      ...[result, ...targets].filter((p) => !isSurrounded(read(p.raw), p)).map(({ name }) => name),
    ]
    const results = [{ ...result, name: 'y' }, ...beside].map(
      (place) => [place.name, floatsOf(read(place.raw), place)] as const,
    )
    return { results: Object.fromEntries(results), damage }
  }

  #pack(
    kernels: Kernels,
    at_: {
      readonly name: string
      readonly matrix: Panels
      readonly all: readonly { readonly name: string; readonly panels: Panels }[]
      readonly values: Values
    },
  ): void {
    const { name, matrix, all, values } = at_
    if (name.endsWith('ᵀ')) {
      const source = all.find((other) => other.name === name.slice(0, -1))
      if (source === undefined) throw new Error(`no matrix for ${name}`)
      Array.from(kernels.transpose(source.panels, matrix))
      return
    }
    const numbers = values[name]
    if (!(numbers instanceof Float32Array)) throw new Error(`no numbers for ${name}`)
    // In two pieces, as a file is read.
    const half = Math.floor(matrix.rows / 2)
    if (half > 0) kernels.pack(matrix, numbers.subarray(0, half * matrix.columns), 0)
    kernels.pack(matrix, numbers.subarray(half * matrix.columns), half)
  }

  [Symbol.dispose](): void {
    this.#allocator[Symbol.dispose]()
    this.runtime[Symbol.dispose]()
  }
}

const afterOf = (after: Slot) => ({ name: 'scratch', after })
const wordsOf = (count: number, word: number): Int32Array => new Int32Array(count).fill(word)
const isGuard = (word: number): boolean => word === guardWord
const same = (one: Int32Array, other: Int32Array): boolean =>
  Buffer.from(one.buffer).equals(Buffer.from(other.buffer))

function placesOf(arena: Arena, shapes: Shapes, strided: readonly string[] = []): Place[] {
  return Object.entries(shapes).map(([name, shape]) => {
    const [columns = 1, ...rest] = shape
    const wide = strided.includes(name) ? columns + pad : columns
    const rows = rest.reduce((product, n) => product * n, 1)
    const raw = arena.plan([2 * guardWords + wide * rows])
    const slot = (): Slot => ({
      buffer: raw.buffer,
      offset: raw.offset + guardWords * 4,
      shape: shapeOf(wide, ...rest),
      type: integers.includes(name) ? 'i32' : 'f32',
    })
    return { name, raw, slot, columns, wide, count: columns * rows }
  })
}

const integers = ['ids', 'places']

function narrowed(g: Graph, place: Place): Tensor {
  const leaf = g.leaf(place.slot())
  return place.wide === place.columns ? leaf : ops.viewColumns(g, leaf, [0, place.columns])
}

/** Where number `i` of a place lies in its raw words. */
const wordAt = ({ columns, wide }: Place, i: number): number =>
  guardWords + Math.floor(i / columns) * wide + (i % columns)

function surrounded(
  place: Place,
  values: Float32Array | Int32Array | null | undefined,
): Int32Array {
  if (values === undefined || (values !== null && values.length !== place.count)) {
    throw new Error(`${place.name} takes ${place.count} numbers, found ${values?.length ?? 'none'}`)
  }
  const words = wordsOf(place.raw.shape[0], guardWord)
  const bits =
    values === null ? null : new Int32Array(values.buffer, values.byteOffset, place.count)
  for (let i = 0; i < place.count; i += 1) words[wordAt(place, i)] = bits?.[i] ?? nanWord
  return words
}

function isSurrounded(words: Int32Array, place: Place): boolean {
  const inside = new Set(Array.from({ length: place.count }, (_, i) => wordAt(place, i)))
  return words.every((word, i) => inside.has(i) || isGuard(word))
}

function floatsOf(words: Int32Array, place: Place): Float32Array {
  const picked = Int32Array.from({ length: place.count }, (_, i) => at(words, wordAt(place, i)))
  return new Float32Array(picked.buffer)
}
