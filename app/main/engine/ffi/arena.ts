// Bump allocator over native memory that is kept between calls: one buffer, or several where the backend's buffers
// are limited. Slots are planned first, then `commit` makes sure the buffers hold them all; a call that needs more
// replaces them.
import { AppError } from '../../../shared/errors.ts'
import type { NativeBuffer, Runtime, Slot } from './runtime.ts'
import type { Scope } from './scope.ts'
import { byteLength, shapeOf, type ElementType, type Shape } from './tensor.ts'

export class Arena implements Disposable {
  readonly #runtime: Runtime
  #scope: Scope
  #buffers: readonly NativeBuffer[] = []
  /** Bytes planned in each buffer. */
  #planned: number[] = [0]

  constructor(runtime: Runtime) {
    this.#runtime = runtime
    this.#scope = runtime.newScope()
  }

  /** Forgets all slots; their memory is reused. */
  reset(): void {
    this.#planned = [0]
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

  /** `purpose` opens the message where memory is short: "257 tokens", "the model's weights". */
  commit(purpose: string): void {
    const buffers = this.#buffers
    const fits = this.#planned.every((bytes, index) => (buffers[index]?.size ?? -1) >= bytes)
    if (fits) return
    this.#refuseTooMuch(purpose)
    this.#release()
    this.#buffers = this.#planned.map((bytes) =>
      this.#runtime.allocateBuffer(this.#scope, Math.max(bytes, 1)),
    )
  }

  /** Refuses before the machine runs out of memory: Linux would kill the process instead. */
  #refuseTooMuch(purpose: string): void {
    const held = this.#buffers.reduce((sum, { size }) => sum + size, 0)
    const neededBytes = this.#planned.reduce((sum, bytes) => sum + bytes, 0) - held
    const availableBytes = this.#runtime.freeBytes()
    if (neededBytes <= availableBytes) return
    const [want, have] = [neededBytes, availableBytes].map((bytes) => Math.ceil(bytes / 2 ** 20))
    const message = `${purpose} need ${want} MiB more, ${have} MiB are free`
    throw new AppError('out-of-memory', message, { data: { neededBytes, availableBytes } })
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
