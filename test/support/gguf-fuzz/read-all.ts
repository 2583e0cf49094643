// Everything that is ever done with the bytes of a GGUF file, on a source that watches what is asked of it.
import { getHeapStatistics } from 'node:v8'
import { parseAdapter } from '../../../app/main/engine/adapter-file.ts'
import { parseGguf, readGgufArray, type GgufFile } from '../../../app/main/engine/gguf/reader.ts'
import { memorySource, type ByteSource } from '../../../app/main/engine/gguf/source.ts'
import { readModelInfo } from '../../../app/main/engine/nn/config.ts'
import { AppError } from '../../../app/shared/errors.ts'
import { fuzzModel } from './seeds.ts'

/** `value`, or the code of the refusal. */
export type Outcome = 'value' | AppError['code']

export interface Outcomes {
  readonly parse: Outcome
  /** null = the file was not parsed. */
  readonly model: Outcome | null
  readonly adapter: Outcome | null
  readonly arrays: readonly Outcome[]
}

/** Codes that are right about the contents of a file. */
const contentCodes = new Set<string>(['corrupt', 'unsupported', 'too-large'])
/** A message must not carry the file to the user. */
const longestMessage = 1000

/** Room for what does not depend on the file: an error with its stack. */
const fixedHeapBytes = 96 * 1024
/** A tensor's entry of 32 bytes becomes an object, a list and a string of some hundred. */
const heapPerByte = 20
/** The compiler of the machine allocates on the same heap; what is ours comes back each time. */
const attempts = 4

/** Throws when an outcome is not a named one, and when more is read or held than the file has. */
export function readAll(bytes: Uint8Array): Outcomes {
  expectModestMemory(bytes)
  const source = watchedSource(bytes)
  let file: GgufFile | null = null
  const parse = outcomeOf(() => {
    file = parseGguf(source)
  })
  source.expectAtMost(1)
  const parsed = file as GgufFile | null
  if (parsed === null) return { parse, model: null, adapter: null, arrays: [] }
  checkTensors(parsed, bytes.byteLength)
  const arrays = [...parsed.metadata.values()]
    .filter((value) => typeof value === 'object')
    .map((array) => outcomeOf(() => readGgufArray(source, array)))
  const model = outcomeOf(() => readModelInfo(parsed))
  const adapter = outcomeOf(() => parseAdapter(source, fuzzModel))
  // Each array is read with a window of its own; the adapter is the file once more, then its numbers.
  source.expectAtMost(3 + arrays.length)
  return { parse, model, adapter, arrays }
}

function outcomeOf(action: () => unknown): Outcome {
  try {
    action()
    return 'value'
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (!contentCodes.has(error.code)) throw error
    if (error.message === '' || error.message.length > longestMessage) {
      throw new Error(`${error.message.length} characters: ${error.message.slice(0, 200)}`)
    }
    return error.code
  }
}

function expectModestMemory(bytes: Uint8Array): void {
  const limit = fixedHeapBytes + heapPerByte * bytes.byteLength
  let held = 0
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const before = heldBytes()
    outcomeOf(() => parseGguf(memorySource(bytes)))
    held = heldBytes() - before
    if (held <= limit) return
  }
  throw new Error(`parsing ${bytes.byteLength} bytes took ${held} bytes of memory`)
}

function heldBytes(): number {
  const { used_heap_size: heap, external_memory: outside } = getHeapStatistics()
  return heap + outside
}

/** What was parsed lies inside the file, each tensor in bytes of its own. */
function checkTensors({ tensors }: GgufFile, sizeBytes: number): void {
  const inOrder = [...tensors.values()].sort((a, b) => a.offset - b.offset)
  let end = 0
  for (const { name, offset, sizeBytes: length } of inOrder) {
    if (offset < end)
      throw new Error(`${JSON.stringify(name.slice(0, 80))} overlaps another tensor`)
    end = offset + length
  }
  if (end > sizeBytes) throw new Error(`tensors end at ${end}, the file at ${sizeBytes}`)
}

interface WatchedSource extends ByteSource {
  /** Throws when more was asked for than in `times` readings; windows that overlap may double one. */
  expectAtMost(times: number): void
}

function watchedSource(bytes: Uint8Array): WatchedSource {
  let asked = 0
  return {
    sizeBytes: bytes.byteLength,
    read(offset, length) {
      const isInside =
        Number.isInteger(offset) && Number.isInteger(length) && offset >= 0 && length >= 0
      if (!isInside || offset + length > bytes.byteLength) {
        throw new Error(`read of ${length} at ${offset} in a file of ${bytes.byteLength}`)
      }
      asked += length
      return bytes.subarray(offset, offset + length)
    },
    expectAtMost(times) {
      if (asked > 2 * times * bytes.byteLength) {
        throw new Error(`${asked} bytes were read from a file of ${bytes.byteLength}`)
      }
    },
    [Symbol.dispose]: () => undefined,
  }
}
