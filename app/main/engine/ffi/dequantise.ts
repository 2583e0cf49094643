// Turns stored tensor bytes into f32 with ggml's own converters, so that training reads the same numbers as
// serving. The converter's address stands in ggml_type_traits.
import koffi from 'koffi'
import { AppError } from '../../../shared/errors.ts'
import { GGML_TYPE_F32, tensorTypes } from './ggml.gen.ts'
import type { Runtime } from './runtime.ts'

/** Byte offset of `to_float` in struct ggml_type_traits: after a name, two int64, a size and a padded bool. */
const toFloatOffset = 40

const converterType = koffi.proto('void (const void *from, void *to, int64_t count)')

/** `bytes` holds whole blocks of the ggml type; `target` has one place per value. */
export function dequantise(
  runtime: Runtime,
  source: { readonly type: number; readonly bytes: Uint8Array },
  target: Float32Array,
): void {
  const facts = (tensorTypes as Record<number, { name: string; block: number; bytes: number }>)[
    source.type
  ]
  if (facts === undefined) throw new AppError('unsupported', `unknown tensor type ${source.type}`)
  if (source.bytes.byteLength !== (target.length / facts.block) * facts.bytes) {
    throw new Error(
      `${source.bytes.byteLength} bytes are not ${target.length} ${facts.name} values`,
    )
  }
  if (source.type === GGML_TYPE_F32) {
    new Uint8Array(target.buffer, target.byteOffset, target.byteLength).set(source.bytes)
    return
  }
  const traits = runtime.functions.ggml_get_type_traits(source.type)
  const converter = traits === null ? 0n : koffi.decode(traits, toFloatOffset, 'uint64_t')
  if (BigInt(converter) === 0n) {
    throw new AppError('unsupported', `ggml cannot convert ${facts.name} to f32`)
  }
  koffi.call(BigInt(converter), converterType, source.bytes, target, target.length)
}
