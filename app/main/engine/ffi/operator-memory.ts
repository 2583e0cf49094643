// What no function of ggml tells or does: where a tensor's numbers begin, and copying an operator to another tensor
// of its shape. Reads and writes struct ggml_tensor by the offsets that the header gives; used off the CPU only.
import koffi from 'koffi'
import { GGML_MAX_SRC, GGML_TENSOR_FLAG_COMPUTE, tensorOffsets } from './ggml.gen.ts'
import type { Pointer } from './pointer.ts'

type NativeTensor = Pointer<'ggml_tensor'>

function readWord(tensor: NativeTensor, offset: number): bigint {
  return BigInt(koffi.decode(tensor, offset, 'uint64_t') as number | bigint)
}

/** Bytes from the start of the buffer's address space; a tensor without memory yet counts as starting at 0. */
export function startOf(tensor: NativeTensor): bigint {
  const root = readWord(tensor, tensorOffsets.view_src)
  if (root === 0n) return readWord(tensor, tensorOffsets.data)
  const offset = readWord(tensor, tensorOffsets.view_offs)
  return readWord(root as NativeTensor, tensorOffsets.data) + offset
}

/** The operator's inputs. */
export function sourcesOf(tensor: NativeTensor): NativeTensor[] {
  const all = Array.from({ length: GGML_MAX_SRC }, (_, i) =>
    readWord(tensor, tensorOffsets.src + 8 * i),
  )
  return all.filter((address) => address !== 0n) as NativeTensor[]
}

/** Makes `to` the result of the operator of `from`: same parameters, same inputs. */
export function copyOperator(from: NativeTensor, to: NativeTensor): void {
  for (let at = tensorOffsets.op; at < tensorOffsets.view_src; at += 4) {
    koffi.encode(to, at, 'uint32_t', koffi.decode(from, at, 'uint32_t'))
  }
}

/** Backends skip tensors without this mark. */
export function markForComputing(tensor: NativeTensor): void {
  const flags = Number(koffi.decode(tensor, tensorOffsets.flags, 'int32_t'))
  koffi.encode(tensor, tensorOffsets.flags, 'int32_t', flags | GGML_TENSOR_FLAG_COMPUTE)
}
