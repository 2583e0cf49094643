// One ggml backend (the CPU, or a GPU helped by it) with its counted native objects: buffers, allocators, tensors placed in buffers.
// It knows nothing of models; graphs are in graph.ts, operators in raw-ops.ts.
import { AppError } from '../../../shared/errors.ts'
import type { GpuKind } from '../types.ts'
import type { GgmlFunctions } from './ggml.gen.ts'
import { memoryOf, nativeGpu, type Gpu } from './gpu.ts'
import { createHostFallback, type HostFallback } from './host-fallback.ts'
import { loadLibrary, quietly, type Library } from './library.ts'
import { startOf } from './operator-memory.ts'
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

export interface RuntimeOptions {
  readonly libraryDir?: string | undefined
  readonly threads: number
  /** Absent = the CPU. */
  readonly gpu?: Gpu | undefined
  /** Takes the CPU for another device, so that its paths can be tested anywhere. */
  readonly pretend?: PretendedDevice
}

export interface PretendedDevice {
  readonly device?: GpuKind
  /** Operators that are missing, by ggml's names, for instance `OUT_PROD`. */
  readonly missing?: readonly string[]
  readonly alignment?: number
  readonly maxBufferBytes?: number
}

export class Runtime implements Disposable {
  readonly functions: GgmlFunctions
  readonly version: string
  readonly name: string
  readonly device: 'cpu' | GpuKind
  readonly backend: Pointer<'ggml_backend'>
  readonly alignment: number
  /** Largest buffer that the backend gives. */
  readonly maxBufferBytes: number
  readonly counter: HandleCounter = { alive: 0 }
  readonly #library: Library
  readonly #processor: Pointer<'ggml_backend_dev'>
  readonly #isCpu: boolean
  readonly #missing: ReadonlySet<string>
  readonly #scope: Scope
  #threads = 1
  #fallback: { readonly host: HostFallback; readonly cpu: Pointer<'ggml_backend'> } | null = null

  constructor(options: RuntimeOptions) {
    const { gpu, pretend = {} } = options
    this.#isCpu = gpu === undefined
    this.#library = gpu === undefined ? loadLibrary(options.libraryDir) : nativeGpu(gpu).library
    this.#processor = gpu === undefined ? this.#library.device : nativeGpu(gpu).device
    this.#missing = new Set(pretend.missing)
    this.functions = this.#library.functions
    this.version = this.#library.version
    this.device = gpu?.kind ?? pretend.device ?? 'cpu'
    this.name = this.functions.ggml_backend_dev_description(this.#processor)
    this.#scope = new Scope(this.counter)
    this.backend = this.#openBackend(this.#processor)
    this.alignment = pretend.alignment ?? this.functions.ggml_backend_get_alignment(this.backend)
    this.maxBufferBytes =
      pretend.maxBufferBytes ?? Number(this.functions.ggml_backend_get_max_size(this.backend))
    this.setThreads(options.threads)
  }

  #openBackend(device: Pointer<'ggml_backend_dev'>): Pointer<'ggml_backend'> {
    const open = (): Pointer<'ggml_backend'> | null =>
      this.functions.ggml_backend_dev_init(device, null)
    const backend = quietly(this.functions, open)
    if (backend === null) {
      const name = this.functions.ggml_backend_dev_description(device)
      throw new AppError('unavailable', `ggml could not start its backend for ${name}`)
    }
    return this.#scope.own(backend, (b) => this.functions.ggml_backend_free(b))
  }

  /** Threads of the CPU; a GPU takes none but for operators that it lacks. */
  setThreads(threads: number): void {
    if (!Number.isInteger(threads) || threads < 1 || threads > 512) {
      throw new AppError(
        'invalid-input',
        `threads must be a whole number from 1 to 512, got ${threads}`,
      )
    }
    this.#threads = threads
    if (this.#isCpu) this.#library.setThreads(this.backend, threads)
    if (this.#fallback !== null) this.#library.setThreads(this.#fallback.cpu, threads)
  }

  /** Whether the backend runs an operator with these inputs; ggml aborts where it is asked to and cannot. */
  supports(operator: Tensor): boolean {
    if (this.#isCpu && this.#missing.size === 0) return true
    const address = addressOf(operator)
    if (this.#missing.has(this.functions.ggml_op_desc(address))) return false
    return this.functions.ggml_backend_dev_supports_op(this.#processor, address)
  }

  /** Whether a tensor begins where every operator of the backend may read it. */
  isAligned(tensor: Tensor): boolean {
    if (this.device === 'cpu') return true
    return startOf(addressOf(tensor)) % BigInt(this.alignment) === 0n
  }

  /** Computes operators that the backend lacks. */
  get hostFallback(): HostFallback {
    this.#fallback ??= this.#openFallback()
    return this.#fallback.host
  }

  #openFallback(): { readonly host: HostFallback; readonly cpu: Pointer<'ggml_backend'> } {
    const cpu = this.#openBackend(this.#library.device)
    this.#library.setThreads(cpu, this.#threads)
    const host = createHostFallback({
      functions: this.functions,
      scope: this.#scope,
      newScope: () => this.newScope(),
      createContext: (scope, sizeBytes) => this.createContext(scope, sizeBytes),
      device: this.backend,
      cpu,
    })
    return { host, cpu }
  }

  /** Memory that may still be taken where the buffers lie. */
  freeBytes(): number {
    if (this.#isCpu) return process.availableMemory()
    return memoryOf({ library: this.#library, device: this.#processor }).freeBytes
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
