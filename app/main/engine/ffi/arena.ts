// Bump allocator over one native buffer that is kept between calls. Slots are planned first, then `commit`
// makes sure the buffer holds them all; a call that needs more replaces the buffer.
import { AppError } from '../../../shared/errors.ts'
import type { NativeBuffer, Runtime, Slot } from './runtime.ts'
import type { Scope } from './scope.ts'
import { byteLength, shapeOf, type ElementType, type Shape } from './tensor.ts'

export class Arena implements Disposable {
  readonly #runtime: Runtime
  #scope: Scope
  #buffer: NativeBuffer | null = null
  #used = 0

  constructor(runtime: Runtime) {
    this.#runtime = runtime
    this.#scope = runtime.newScope()
  }

  /** Forgets all slots; their memory is reused. */
  reset(): void {
    this.#used = 0
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

  /** `purpose` opens the message where memory is short: "257 tokens", "the model's weights". */
  commit(purpose: string): void {
    if (this.#buffer !== null && this.#buffer.size >= this.#used) return
    this.#refuseTooMuch(purpose)
    this.#release()
    this.#buffer = this.#runtime.allocateBuffer(this.#scope, Math.max(this.#used, 1))
  }

  /** Refuses before the machine runs out of memory: Linux would kill the process instead. */
  #refuseTooMuch(purpose: string): void {
    const neededBytes = this.#used - (this.#buffer?.size ?? 0)
    const availableBytes = process.availableMemory()
    if (neededBytes <= availableBytes) return
    const [want, have] = [neededBytes, availableBytes].map((bytes) => Math.ceil(bytes / 2 ** 20))
    const message = `${purpose} need ${want} MiB more, ${have} MiB are free`
    throw new AppError('out-of-memory', message, { data: { neededBytes, availableBytes } })
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
