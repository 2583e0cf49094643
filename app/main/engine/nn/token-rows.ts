// The token embeddings as they stand in the file: only the rows of a call are ever converted, so a quantised table
// costs a sixth of its f32 copy.
import { dequantise, type Runtime } from '../ffi/index.ts'
import type { GgufTensorInfo } from '../gguf/reader.ts'
import type { ByteSource } from '../gguf/source.ts'

export class TokenRows {
  readonly #runtime: Runtime
  readonly #type: number
  readonly #columns: number
  readonly #rowBytes: number
  readonly #bytes: Uint8Array

  constructor(runtime: Runtime, bytes: ByteSource, info: GgufTensorInfo) {
    this.#runtime = runtime
    this.#type = info.type
    this.#columns = info.shape[0] ?? 1
    this.#rowBytes = (info.sizeBytes / info.elements) * this.#columns
    this.#bytes = Uint8Array.from(bytes.read(info.offset, info.sizeBytes))
  }

  /** [C, T] of ids the caller has checked. */
  of(ids: Int32Array): Float32Array {
    const values = new Float32Array(ids.length * this.#columns)
    ids.forEach((id, t) => {
      const bytes = this.#bytes.subarray(id * this.#rowBytes, (id + 1) * this.#rowBytes)
      const target = values.subarray(t * this.#columns, (t + 1) * this.#columns)
      dequantise(this.#runtime, { type: this.#type, bytes }, target)
    })
    return values
  }
}
