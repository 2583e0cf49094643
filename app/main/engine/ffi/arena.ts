// Bump allocator over native memory that is kept between calls: one buffer, or several where the backend's buffers
// are limited. Slots are planned first, which costs nothing, then `commit` makes sure the buffers hold them all; a call
// that needs more replaces them.
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
  #buffers: readonly NativeBuffer[] = []
  /** Bytes planned in each buffer. */
  #planned: number[] = [0]
  #starts: { readonly name: string; readonly at: number }[] = []

  constructor(runtime: Runtime) {
    this.#runtime = runtime
    this.#scope = runtime.newScope()
  }

  /** Forgets all slots; their memory is reused. */
  reset(): void {
    this.#planned = [0]
    this.#starts = []
  }

  /** Names what is planned from here on. */
  section(name: string): void {
    this.#starts.push({ name, at: this.used })
  }

  /** Bytes of each named section, those of one name together. */
  parts(): ArenaPart[] {
    const bytes = new Map<string, number>()
    this.#starts.forEach(({ name, at }, i) => {
      const end = this.#starts[i + 1]?.at ?? this.used
      bytes.set(name, (bytes.get(name) ?? 0) + end - at)
    })
    return [...bytes].map(([name, count]) => ({ name, bytes: count }))
  }

  /** Bytes that all planned slots need. */
  get used(): number {
    return this.#planned.reduce((sum, bytes) => sum + bytes, 0)
  }

  /** Bytes that it holds already. */
  get held(): number {
    return this.#buffers.reduce((sum, { size }) => sum + size, 0)
  }

  /** Plans a place; it may be used after `commit`. */
  plan(sizes: readonly number[], type: ElementType = 'f32'): Slot {
    const shape: Shape = shapeOf(...sizes)
    const arena = this
    // Packed weights are read in vectors of 64 bytes.
    const alignment = Math.max(64, this.#runtime.alignment)
    const bytes = Math.ceil(byteLength(shape) / alignment) * alignment
    const { index, offset } = this.#reserve(bytes)
    return {
      get buffer() {
        const buffer = arena.#buffers[index]
        if (buffer === undefined) throw new Error('the arena was not committed')
        return buffer
      },
      offset,
      shape,
      type,
    }
  }

  #reserve(bytes: number): { readonly index: number; readonly offset: number } {
    const last = this.#planned.at(-1) ?? 0
    if (last > 0 && last + bytes > this.#runtime.maxBufferBytes) this.#planned.push(0)
    const index = this.#planned.length - 1
    const offset = this.#planned[index] ?? 0
    this.#planned[index] = offset + bytes
    return { index, offset }
  }

  /** Allocates what is missing. Whether that much is free is checked before, by nn/memory.ts. */
  commit(): void {
    const buffers = this.#buffers
    if (this.#planned.every((bytes, index) => (buffers[index]?.size ?? -1) >= bytes)) return
    this.#release()
    this.#buffers = this.#planned.map((bytes) =>
      this.#runtime.allocateBuffer(this.#scope, Math.max(bytes, 1)),
    )
  }

  #release(): void {
    this.#buffers = []
    this.#scope[Symbol.dispose]()
    this.#scope = this.#runtime.newScope()
  }

  [Symbol.dispose](): void {
    this.#release()
  }
}
