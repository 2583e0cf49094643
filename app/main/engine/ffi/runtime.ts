// One ggml CPU backend with its counted native objects: buffers, allocators, tensors placed in buffers.
// It knows nothing of models; graphs are in graph.ts, operators in raw-ops.ts.
import { AppError } from '../../../shared/errors.ts'
import type { GgmlFunctions } from './ggml.gen.ts'
import { loadLibrary, type Library } from './library.ts'
import type { Pointer } from './pointer.ts'
import { Scope, type HandleCounter } from './scope.ts'
import {
  addressOf,
  byteLength,
  elementBytes,
  makeTensor,
  typeNumbers,
  type ElementType,
  type Shape,
  type Tensor,
} from './tensor.ts'

/** A place in a buffer where a tensor of one shape lives, whatever graph uses it. */
export interface Slot {
  readonly buffer: NativeBuffer
  readonly offset: number
  readonly shape: Shape
  readonly type: ElementType
}

/** A block of native memory. */
export interface NativeBuffer {
  readonly address: Pointer<'ggml_backend_buffer'>
  readonly base: bigint
  readonly size: number
}

export class Runtime implements Disposable {
  readonly functions: GgmlFunctions
  readonly version: string
  readonly name: string
  readonly backend: Pointer<'ggml_backend'>
  readonly alignment: number
  readonly counter: HandleCounter = { alive: 0 }
  readonly #library: Library
  readonly #scope: Scope

  constructor(options: { readonly libraryDir?: string | undefined; readonly threads: number }) {
    this.#library = loadLibrary(options.libraryDir)
    this.functions = this.#library.functions
    this.version = this.#library.version
    this.name = this.functions.ggml_backend_dev_description(this.#library.device)
    this.#scope = new Scope(this.counter)
    const backend = this.functions.ggml_backend_dev_init(this.#library.device, null)
    if (backend === null) throw new AppError('unavailable', 'ggml could not start its CPU backend')
    this.backend = this.#scope.own(backend, (b) => this.functions.ggml_backend_free(b))
    this.alignment = this.functions.ggml_backend_get_alignment(backend)
    this.setThreads(options.threads)
  }

  setThreads(threads: number): void {
    if (!Number.isInteger(threads) || threads < 1 || threads > 512) {
      throw new AppError(
        'invalid-input',
        `threads must be a whole number from 1 to 512, got ${threads}`,
      )
    }
    this.#library.setThreads(this.backend, threads)
  }

  newScope(): Scope {
    return new Scope(this.counter)
  }

  allocateBuffer(scope: Scope, sizeBytes: number): NativeBuffer {
    const address = this.functions.ggml_backend_alloc_buffer(this.backend, sizeBytes)
    const base = address === null ? null : this.functions.ggml_backend_buffer_get_base(address)
    if (address === null || base === null) {
      const megabytes = Math.ceil(sizeBytes / 2 ** 20)
      throw new AppError('out-of-memory', `ggml could not allocate ${megabytes} MiB`, {
        data: { neededBytes: sizeBytes },
      })
    }
    scope.own(address, (b) => this.functions.ggml_backend_buffer_free(b))
    return { address, base, size: sizeBytes }
  }

  /** A small native arena that holds tensor and graph headers, no numbers. */
  createContext(scope: Scope, sizeBytes: number): Pointer<'ggml_context'> {
    const params = { mem_size: sizeBytes, mem_buffer: null, no_alloc: true }
    const context = this.functions.ggml_init(params)
    if (context === null) throw new AppError('out-of-memory', 'ggml could not create a context')
    return scope.own(context, (c) => this.functions.ggml_free(c))
  }

  createAllocator(scope: Scope): Pointer<'ggml_gallocr'> {
    const kind = this.functions.ggml_backend_get_default_buffer_type(this.backend)
    const allocator = this.functions.ggml_gallocr_new(kind)
    if (allocator === null)
      throw new AppError('out-of-memory', 'ggml could not create an allocator')
    return scope.own(allocator, (a) => this.functions.ggml_gallocr_free(a))
  }

  /** A tensor header in `context` whose numbers live in `slot`. */
  placeTensor(context: Pointer<'ggml_context'>, slot: Slot): Tensor {
    const [n0, n1, n2, n3] = slot.shape
    const type = typeNumbers[slot.type]
    const address = this.functions.ggml_new_tensor_4d(context, type, n0, n1, n2, n3)
    const tensor = makeTensor(address, { shape: slot.shape, type: slot.type })
    this.bind(tensor, slot)
    return tensor
  }

  /** Gives the result of an operator a fixed place instead of scratch memory. */
  bind(tensor: Tensor, slot: Slot): void {
    const end = slot.offset + byteLength(slot.shape)
    if (end > slot.buffer.size)
      throw new Error(`slot ends at ${end}, buffer at ${slot.buffer.size}`)
    const at = (slot.buffer.base + BigInt(slot.offset)) as Pointer<'memory'>
    const status = this.functions.ggml_backend_tensor_alloc(
      slot.buffer.address,
      addressOf(tensor),
      at,
    )
    if (status !== 0) throw new Error(`ggml could not place a tensor (status ${status})`)
  }

  write(tensor: Tensor, data: Float32Array | Int32Array, elementOffset = 0): void {
    const start = elementOffset * elementBytes
    if (start + data.byteLength > byteLength(tensor.shape)) throw new Error('write past the tensor')
    this.functions.ggml_backend_tensor_set(addressOf(tensor), data, start, data.byteLength)
  }

  read<T extends Float32Array | Int32Array>(tensor: Tensor, target: T, elementOffset = 0): T {
    const start = elementOffset * elementBytes
    if (start + target.byteLength > byteLength(tensor.shape))
      throw new Error('read past the tensor')
    this.functions.ggml_backend_tensor_get(addressOf(tensor), target, start, target.byteLength)
    return target
  }

  [Symbol.dispose](): void {
    this.#scope[Symbol.dispose]()
  }
}
