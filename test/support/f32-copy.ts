// The same model as an f32 GGUF file: its own header fields, its weights turned into f32 by ggml's own converters.
import { open } from 'node:fs/promises'
import { dequantise, Runtime } from '../../app/main/engine/ffi/index.ts'
import { fileSource, parseGguf, type GgufTensorInfo } from '../../app/main/engine/index.ts'

const alignment = 32
/** Magic, version and the two counts. */
const headBytes = 24

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function named(tensor: GgufTensorInfo): Buffer {
  return Buffer.concat([uint64(Buffer.byteLength(tensor.name)), Buffer.from(tensor.name)])
}

const padding = (length: number): number => (alignment - (length % alignment)) % alignment

export async function writeF32Copy(sourcePath: string, targetPath: string): Promise<void> {
  using source = fileSource(sourcePath)
  const tensors = [...parseGguf(source).tensors.values()]
  const [first] = tensors
  if (first === undefined) throw new Error(`${sourcePath} has no tensors`)
  const dataStart = Math.min(...tensors.map(({ offset }) => offset))
  const header = Buffer.from(source.read(0, dataStart))
  // The list of tensors begins with the first one's name; what stands before are the fields.
  const parts: Uint8Array[] = [header.subarray(0, header.indexOf(named(first), headBytes))]
  let offset = 0
  for (const tensor of tensors) {
    const shape = tensor.shape.map(uint64)
    parts.push(named(tensor), uint32(shape.length), ...shape, uint32(0), uint64(offset))
    offset += tensor.elements * 4 + padding(tensor.elements * 4)
  }
  const start = Buffer.concat(parts)
  const target = await open(targetPath, 'w')
  using runtime = new Runtime({ threads: 1 })
  try {
    await target.writeFile(Buffer.concat([start, Buffer.alloc(padding(start.length))]))
    for (const { type, elements, offset: from, sizeBytes } of tensors) {
      const values = new Float32Array(elements)
      dequantise(runtime, { type, bytes: source.read(from, sizeBytes) }, values)
      const bytes = new Uint8Array(values.buffer)
      await target.writeFile(bytes)
      await target.writeFile(Buffer.alloc(padding(bytes.length)))
    }
  } finally {
    await target.close()
  }
}
