// A compiled library of our own kernels (native/): its helpers as functions, its operators as addresses that
// ggml_custom_4d takes.
import koffi from 'koffi'
import type { Arena } from './arena.ts'
import type { Pointer } from './pointer.ts'
import type { Runtime, Slot } from './runtime.ts'
import type { Scope } from './scope.ts'

/** Where a packed matrix [rows, columns] lives. */
export interface Panels {
  readonly slot: Slot
  /** What rounding took from the numbers, packed likewise; null = not kept, or nothing is rounded. */
  readonly low: Slot | null
  readonly rows: number
  readonly columns: number
}

type Operator = Pointer<'ggml_custom_op'>
type PackFunction = (
  panels: bigint,
  from: Float32Array | bigint,
  ...place: readonly [rows: number, columns: number, first: number, count: number]
) => void
type SizeFunction = (rows: number, columns: number) => number

interface Functions {
  readonly panelRows: number
  readonly packedBytes: SizeFunction
  readonly pack: PackFunction
  readonly packLow: PackFunction
  readonly transpose: PackFunction
}

/** Numbers of one piece of a transposition: 10 ms. */
const transposedAtOnce = 2 ** 21

/** Threads that can share one operator; the others of a larger machine have no part in it. */
const workers = 32

export class Kernels implements Disposable {
  readonly name: string
  readonly operators: Readonly<Record<'product' | 'outer' | 'matmul', Operator>>
  /** Packing space of every thread, [bytes / 4, workers]. */
  readonly scratch: Slot
  /** False where another variant is faster on this processor. */
  readonly preferred: boolean
  /** Whether packed numbers are rounded to bf16. */
  readonly rounds: boolean
  /** How many times as fast as ggml's f32 products these are at least. */
  readonly speedup: number
  /** Largest inner size of a product of two inputs. */
  readonly matMulColumns: number
  readonly #functions: Functions
  readonly #scope: Scope

  private constructor(name: string, library: ReturnType<typeof koffi.load>, runtime: Runtime) {
    this.name = name
    const operator = (symbol: string): Operator =>
      koffi.address(library.symbol(symbol, 'void')) as Operator
    this.operators = {
      product: operator('hone_product'),
      outer: operator('hone_outer'),
      matmul: operator('hone_matmul'),
    }
    this.preferred = library.func('int hone_preferred()')() !== 0
    this.rounds = library.func('int hone_rounds()')() !== 0
    this.matMulColumns = Number(library.func('int64_t hone_matmul_columns()')())
    this.speedup = Number(library.func('int hone_speedup()')())
    this.#functions = bindHelpers(library)
    const floats = Number(library.func('int64_t hone_scratch_bytes()')()) / 4
    this.#scope = runtime.newScope()
    const buffer = runtime.allocateBuffer(this.#scope, floats * 4 * workers)
    this.scratch = { buffer, offset: 0, shape: [floats, workers, 1, 1], type: 'f32' }
  }

  /** Null where this processor lacks the library's instructions. Throws where the file cannot be loaded. */
  static open(
    runtime: Runtime,
    file: { readonly name: string; readonly path: string },
  ): Kernels | null {
    const library = koffi.load(file.path)
    if (library.func('int hone_supported()')() === 0) return null
    return new Kernels(file.name, library, runtime)
  }

  /**
   * Plans the place of a packed matrix. `exact` products cost three rounded ones where numbers are rounded, and
   * differ from f32 by 1e-5 instead of 2.4e-3.
   */
  plan(
    arena: Arena,
    [rows, columns]: readonly [number, number],
    exact: 'exact' | 'rounded',
  ): Panels {
    const shape = [Number(this.#functions.packedBytes(rows, columns)) / 4]
    const slot = arena.plan(shape)
    const low = this.rounds && exact === 'exact' ? arena.plan(shape) : null
    return { slot, low, rows, columns }
  }

  /** Packs rows from `first` on; the last rows must be packed too before the matrix is used. */
  pack(to: Panels, values: Float32Array, first: number): void {
    const count = values.length / to.columns
    if (!Number.isInteger(count) || first + count > to.rows) {
      throw new Error(`${values.length} values at ${first} do not fit [${to.rows}, ${to.columns}]`)
    }
    const { slot, low, rows, columns } = to
    const { pack, packLow } = this.#functions
    pack(addressOfSlot(slot), values, rows, columns, first, count)
    if (low !== null) packLow(addressOfSlot(low), values, rows, columns, first, count)
  }

  /** Packs the transposed matrix piece by piece, one for each step of the generator. */
  *transpose(from: Panels, to: Panels): Generator<undefined> {
    if (from.rows !== to.columns || from.columns !== to.rows || to.low !== null) {
      throw new Error('the panels are not those of transposed, rounded matrices')
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

  [Symbol.dispose](): void {
    this.#scope[Symbol.dispose]()
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
    ) as SizeFunction,
    pack: pack('hone_pack'),
    packLow: pack('hone_pack_low'),
    transpose: pack('hone_transpose'),
  }
}

function addressOfSlot(slot: Slot): bigint {
  return slot.buffer.base + BigInt(slot.offset)
}
