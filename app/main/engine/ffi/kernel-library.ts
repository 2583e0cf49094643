// A compiled library of our own kernels (native/): its helpers as functions, its operators as addresses that
// ggml_custom_4d takes.
import { availableParallelism } from 'node:os'
import koffi from 'koffi'
import type { Arena } from './arena.ts'
import type { Pointer } from './pointer.ts'
import type { Slot } from './runtime.ts'

/** Where a packed matrix [rows, columns] lives. */
export interface Panels {
  readonly slot: Slot
  readonly rows: number
  readonly columns: number
}

/** The largest sizes that calls with one scratch may have. */
export interface ScratchSize {
  readonly tokens: number
  readonly headSize: number
  /** Of the hidden states that the head takes. */
  readonly width: number
}

export const operatorNames = [
  'product',
  'outer',
  'norm',
  'norm_back',
  'rotate',
  'gated',
  'gated_back',
  'attention',
  'attention_back',
  'head_stats',
  'head_back',
  'head_kl',
  'sum_slices',
] as const

export type OperatorName = (typeof operatorNames)[number]

type Operator = Pointer<'ggml_custom_op'>
type PackFunction = (
  panels: bigint,
  from: Float32Array | bigint,
  ...place: readonly [rows: number, columns: number, first: number, count: number]
) => void

interface Functions {
  readonly panelRows: number
  readonly packedBytes: (rows: number, columns: number) => number
  readonly scratchBytes: (tokens: number, headSize: number, width: number) => number
  readonly pack: PackFunction
  readonly transpose: PackFunction
}

/** Numbers of one piece of a transposition: 10 ms. */
const transposedAtOnce = 2 ** 21

/** Threads that can share one operator; the others of a larger machine have no part in it. */
const workers = Math.min(32, availableParallelism())

export class Kernels {
  readonly name: string
  readonly operators: Readonly<Record<OperatorName, Operator>>
  /** False where another variant is faster on this processor. */
  readonly preferred: boolean
  /** Whether the factors of products are rounded to bf16. */
  readonly rounds: boolean
  /** How many times as fast as ggml's f32 products these are at least. */
  readonly speedup: number
  /** Positions that the head's operators take at once. */
  readonly headRows: number
  readonly #functions: Functions

  private constructor(name: string, library: ReturnType<typeof koffi.load>) {
    this.name = name
    this.operators = Object.fromEntries(
      operatorNames.map((operator) => [
        operator,
        koffi.address(library.symbol(`hone_${operator}`, 'void')),
      ]),
    ) as Record<OperatorName, Operator>
    this.preferred = library.func('int hone_preferred()')() !== 0
    this.rounds = library.func('int hone_rounds()')() !== 0
    this.speedup = Number(library.func('int hone_speedup()')())
    this.headRows = Number(library.func('int64_t hone_head_rows()')())
    this.#functions = bindHelpers(library)
  }

  /** Null where this processor lacks the library's instructions. Throws where the file cannot be loaded. */
  static open(file: { readonly name: string; readonly path: string }): Kernels | null {
    const library = koffi.load(file.path)
    if (library.func('int hone_supported()')() === 0) return null
    return new Kernels(file.name, library)
  }

  /** Plans the place of a packed matrix. */
  plan(arena: Arena, [rows, columns]: readonly [number, number]): Panels {
    const shape = [Number(this.#functions.packedBytes(rows, columns)) / 4]
    return { slot: arena.plan(shape), rows, columns }
  }

  /** Plans the working memory of every thread, [bytes / 4, threads], for sequences and models of these sizes. */
  planScratch(arena: Arena, size: ScratchSize): Slot {
    return arena.plan([this.scratchBytes(size) / 4, workers])
  }

  /** Working memory of one thread; grows with each of the sizes. */
  scratchBytes({ tokens, headSize, width }: ScratchSize): number {
    return Number(this.#functions.scratchBytes(tokens, headSize, width))
  }

  /** Packs rows from `first` on; the last rows must be packed too before the matrix is used. */
  pack(to: Panels, values: Float32Array, first: number): void {
    const count = values.length / to.columns
    if (!Number.isInteger(count) || first + count > to.rows) {
      throw new Error(`${values.length} values at ${first} do not fit [${to.rows}, ${to.columns}]`)
    }
    const { slot, rows, columns } = to
    this.#functions.pack(addressOfSlot(slot), values, rows, columns, first, count)
  }

  /** Packs the transposed matrix piece by piece, one for each step of the generator. */
  *transpose(from: Panels, to: Panels): Generator<undefined> {
    if (from.rows !== to.columns || from.columns !== to.rows) {
      throw new Error('the panels are not those of transposed matrices')
    }
    const { panelRows } = this.#functions
    const panels = Math.ceil(to.rows / panelRows)
    const step = Math.max(1, Math.floor(transposedAtOnce / (panelRows * to.columns)))
    for (let first = 0; first < panels; first += step) {
      const count = Math.min(step, panels - first)
      const [target, source] = [addressOfSlot(to.slot), addressOfSlot(from.slot)]
      this.#functions.transpose(target, source, from.rows, from.columns, first, count)
      yield
    }
  }
}

function bindHelpers(library: ReturnType<typeof koffi.load>): Functions {
  const pack = (name: string): PackFunction =>
    library.func(
      `void ${name}(void *to, const void *from, int64_t rows, int64_t columns, int64_t first, int64_t count)`,
    ) as PackFunction
  return {
    panelRows: Number(library.func('int64_t hone_panel_rows()')()),
    packedBytes: library.func(
      'int64_t hone_packed_bytes(int64_t rows, int64_t columns)',
    ) as Functions['packedBytes'],
    scratchBytes: library.func(
      'int64_t hone_scratch_bytes(int64_t tokens, int64_t size, int64_t width)',
    ) as Functions['scratchBytes'],
    pack: pack('hone_pack'),
    transpose: pack('hone_transpose'),
  }
}

function addressOfSlot(slot: Slot): bigint {
  return slot.buffer.base + BigInt(slot.offset)
}
