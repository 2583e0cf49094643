// Bump allocator over one native buffer that is kept between calls. Slots are planned first, which costs nothing,
// then `commit` makes sure the buffer holds them all; a call that needs more replaces the buffer.
import type { NativeBuffer, Runtime, Slot } from './runtime.ts'
import type { Scope } from './scope.ts'
import { byteLength, shapeOf, type ElementType, type Shape } from './tensor.ts'

/** Slots that serve one purpose. */
export interface ArenaPart {
  readonly name: string
  readonly bytes: number
}

export class Arena implements Disposable {
  readonly #runtime: Runtime
  #scope: Scope
  #buffer: NativeBuffer | null = null
  #used = 0
  #starts: { readonly name: string; readonly at: number }[] = []

  constructor(runtime: Runtime) {
    this.#runtime = runtime
    this.#scope = runtime.newScope()
  }

  /** Forgets all slots; their memory is reused. */
  reset(): void {
    this.#used = 0
    this.#starts = []
  }

  /** Names what is planned from here on. */
  section(name: string): void {
    this.#starts.push({ name, at: this.#used })
  }

  /** Bytes of each named section, those of one name together. */
  parts(): ArenaPart[] {
    const bytes = new Map<string, number>()
    this.#starts.forEach(({ name, at }, i) => {
      const end = this.#starts[i + 1]?.at ?? this.#used
      bytes.set(name, (bytes.get(name) ?? 0) + end - at)
    })
    return [...bytes].map(([name, count]) => ({ name, bytes: count }))
  }

  /** Bytes that all planned slots need. */
  get used(): number {
    return this.#used
  }

  /** Bytes that it holds already. */
  get held(): number {
    return this.#buffer?.size ?? 0
  }

  /** Plans a place; it may be used after `commit`. */
  plan(sizes: readonly number[], type: ElementType = 'f32'): Slot {
    const shape: Shape = shapeOf(...sizes)
    const arena = this
    const offset = this.#used
    // Packed weights are read in vectors of 64 bytes.
    const alignment = Math.max(64, this.#runtime.alignment)
    this.#used += Math.ceil(byteLength(shape) / alignment) * alignment
    return {
      get buffer() {
        if (arena.#buffer === null) throw new Error('the arena was not committed')
        return arena.#buffer
      },
      offset,
      shape,
      type,
    }
  }

  /** Allocates what is missing. Whether that much is free is checked before, by nn/memory.ts. */
  commit(): void {
    if (this.#buffer !== null && this.#buffer.size >= this.#used) return
    this.#release()
    this.#buffer = this.#runtime.allocateBuffer(this.#scope, Math.max(this.#used, 1))
  }

  #release(): void {
    this.#buffer = null
    this.#scope[Symbol.dispose]()
    this.#scope = this.#runtime.newScope()
  }

  [Symbol.dispose](): void {
    this.#release()
  }
}
