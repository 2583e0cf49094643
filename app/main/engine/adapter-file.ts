// Adapters as GGUF LoRA files, the form that llama.cpp loads: per trained weight `NAME.lora_a` [I, r] and
// `NAME.lora_b` [r, O] in f32, and alpha in the metadata. What does not fit the model is refused with a reason.
import { AppError } from '../../shared/errors.ts'
import { tensorTypes } from './ffi/index.ts'
import { parseGguf, type GgufFile, type GgufTensorInfo } from './gguf/reader.ts'
import { fileSource, type ByteSource } from './gguf/source.ts'
import { writeGguf, type GgufEntry, type GgufWriteTensor } from './gguf/writer.ts'
import { namesOf } from './nn/adapter.ts'
import type { Adapter, AdapterTensor, ModelInfo } from './types.ts'

export interface AdapterFileOptions {
  /** Architecture of the base model, as in its own file. */
  readonly architecture: string
  /** Shown by tools that list adapters. */
  readonly name?: string
}

export async function writeAdapter(
  path: string,
  adapter: Adapter,
  options: AdapterFileOptions,
): Promise<void> {
  for (const tensor of adapter.tensors) checkNumbers(tensor)
  const metadata = new Map<string, GgufEntry>([
    ['general.type', { type: 'string', value: 'adapter' }],
    ['general.architecture', { type: 'string', value: options.architecture }],
    ['adapter.type', { type: 'string', value: 'lora' }],
    ['adapter.lora.alpha', { type: 'float32', value: adapter.alpha }],
  ])
  if (options.name !== undefined) {
    metadata.set('general.name', { type: 'string', value: options.name })
  }
  const tensors = adapter.tensors.flatMap((tensor): GgufWriteTensor[] => [
    { name: `${tensor.name}.lora_a`, shape: [tensor.inFeatures, adapter.rank], data: tensor.a },
    { name: `${tensor.name}.lora_b`, shape: [adapter.rank, tensor.outFeatures], data: tensor.b },
  ])
  await writeGguf(path, { metadata, tensors })
}

/** The adapter in a file, in the model's own order of pairs; pairs that the file lacks are an error. */
export function readAdapter(path: string, info: ModelInfo): Adapter {
  using source = fileSource(path)
  return parseAdapter(source, info)
}

/** As `readAdapter`, from bytes that are open already. */
export function parseAdapter(source: ByteSource, info: ModelInfo): Adapter {
  const file = parseGguf(source)
  const alpha = readHead(file, info)
  const names = namesOf(info)
  refuseForeign(file, new Set(names.map(({ name }) => name)))
  const rank = pairOf(file, names[0]?.name ?? '').a.shape[1] ?? 0
  const tensors = names.map(({ name, inFeatures, outFeatures }): AdapterTensor => {
    const pair = pairOf(file, name)
    checkShape(pair.a, [inFeatures, rank])
    checkShape(pair.b, [rank, outFeatures])
    const tensor = {
      name,
      inFeatures,
      outFeatures,
      a: read(source, pair.a),
      b: read(source, pair.b),
    }
    checkNumbers(tensor)
    return tensor
  })
  return { rank, alpha, tensors, revision: 0 }
}

/** Returns alpha. */
function readHead(file: GgufFile, info: ModelInfo): number {
  const fact = (key: string): unknown => file.metadata.get(key)
  if (fact('general.type') !== 'adapter') {
    throw new AppError('unsupported', 'the file is not an adapter: general.type is not "adapter"')
  }
  if (fact('adapter.type') !== 'lora') {
    throw new AppError(
      'unsupported',
      `the adapter's type is ${shown(fact('adapter.type'))}, not "lora"`,
    )
  }
  if (fact('general.architecture') !== info.architecture) {
    const found = shown(fact('general.architecture'))
    throw new AppError(
      'unsupported',
      `the adapter is for ${found}, the model is ${info.architecture}`,
    )
  }
  const alpha = fact('adapter.lora.alpha')
  if (typeof alpha === 'number' && Number.isFinite(alpha) && alpha > 0) return alpha
  throw new AppError('corrupt', 'adapter.lora.alpha is not a positive number')
}

function refuseForeign(file: GgufFile, trainable: ReadonlySet<string>): void {
  for (const name of file.tensors.keys()) {
    const base = name.replace(/\.lora_[ab]$/, '')
    if (base !== name && trainable.has(base)) continue
    throw new AppError(
      'unsupported',
      `the adapter changes ${shown(name)}, which is not trainable here`,
    )
  }
}

interface Pair {
  readonly a: GgufTensorInfo
  readonly b: GgufTensorInfo
}

function pairOf(file: GgufFile, name: string): Pair {
  const a = file.tensors.get(`${name}.lora_a`)
  const b = file.tensors.get(`${name}.lora_b`)
  if (a !== undefined && b !== undefined) return { a, b }
  const missing = a === undefined ? 'lora_a' : 'lora_b'
  throw new AppError('unsupported', `the adapter has no ${name}.${missing}`)
}

function checkShape(tensor: GgufTensorInfo, expected: readonly number[]): void {
  if (String(tensor.shape) !== String(expected)) {
    const message = `expected [${expected}] in ${tensor.name}, found [${tensor.shape}]`
    throw new AppError('unsupported', message)
  }
  if (tensor.typeName !== tensorTypes[0].name) {
    throw new AppError(
      'unsupported',
      `${tensor.name} is ${tensor.typeName}; only f32 adapters are read`,
    )
  }
}

function read(source: ByteSource, tensor: GgufTensorInfo): Float32Array {
  const bytes = source.read(tensor.offset, tensor.sizeBytes)
  return new Float32Array(Uint8Array.from(bytes).buffer)
}

function checkNumbers(tensor: AdapterTensor): void {
  for (const [half, values] of [
    ['lora_a', tensor.a],
    ['lora_b', tensor.b],
  ] as const) {
    const bad = values.findIndex((value) => !Number.isFinite(value))
    if (bad === -1) continue
    throw new AppError('corrupt', `${tensor.name}.${half}[${bad}] is ${values[bad]}`)
  }
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : 'unknown'
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}
