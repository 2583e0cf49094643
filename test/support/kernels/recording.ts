// Cases as data for driver.c, which runs them without ggml: under an emulator, a sanitizer, or before guard pages.
// The case's own `build` makes the calls; the graph here only writes down what they are.
import {
  operatorNames,
  shapeOf,
  type Graph,
  type Kernels,
  type Panels,
  type Shape,
  type Slot,
  type Tensor,
} from '../../../app/main/engine/ffi/index.ts'
import { addressOf, contiguousStrides, makeTensor } from '../../../app/main/engine/ffi/tensor.ts'
import type { Pointer } from '../../../app/main/engine/ffi/pointer.ts'
import type { KernelCase, Results, Values } from './bench.ts'
import { needed } from './needed.ts'

const kinds = { input: 1, matrix: 2, turned: 3, scratch: 4, result: 5, alias: 6 } as const

/** What kernel-ops.ts asks of a library; an operator's address is its number here. */
const fakeKernels = {
  speedup: 1,
  headRows: Infinity,
  // The driver plans the scratch itself, by the case's sizes.
  scratchBytes: () => 0,
  operators: Object.fromEntries(operatorNames.map((name, index) => [name, index])),
} as unknown as Kernels

interface Recorded {
  readonly name: string
  readonly kind: keyof typeof kinds
  readonly shape: Shape
  readonly strides: Shape
  /** The tensor whose place it takes or whose transposed it is. */
  readonly other: number
  readonly count: number
  readonly data: Float32Array | Int32Array | null
}

interface Call {
  readonly operator: number
  readonly low: number
  readonly bits: number
  readonly sources: readonly number[]
}

/** Tensors have their number for an address. */
class Recorder {
  readonly tensors: Recorded[] = []
  readonly calls: Call[] = []

  add(tensor: Partial<Recorded> & Pick<Recorded, 'name' | 'kind' | 'shape'>): number {
    const count = tensor.shape.reduce((product, n) => product * n, 1)
    const strides = contiguousStrides(tensor.shape)
    return this.tensors.push({ strides, other: 0, count, data: null, ...tensor }) - 1
  }

  tensorOf(index: number): Tensor {
    const { shape, strides, name } = needed(this.tensors[index])
    const type = name === 'ids' || name === 'places' ? 'i32' : 'f32'
    return makeTensor(BigInt(index + 1) as Pointer<'ggml_tensor'>, { shape, strides, type })
  }

  /** As much of a graph as kernel-ops.ts uses. */
  graph(): Graph {
    const custom = (...given: unknown[]): Pointer<'ggml_tensor'> => {
      const [, , , , , , addresses, , operator, , settings] = given
      const words = BigInt.asUintN(64, (settings ?? 0n) as bigint)
      this.calls.push({
        operator: Number(operator),
        low: Number(words & 0xffffffffn),
        bits: Number(words >> 32n),
        sources: Array.from(addresses as BigUint64Array, (address) => Number(address) - 1),
      })
      return BigInt(-this.calls.length) as Pointer<'ggml_tensor'>
    }
    return {
      context: null,
      runtime: {
        functions: { ggml_custom_4d: custom },
        read: (tensor: Tensor) => this.tensors[Number(addressOf(tensor)) - 1]?.data,
      },
      leaf: (slot: Slot) => this.tensorOf(slot.offset),
      append: (tensor: Tensor) => tensor,
    } as unknown as Graph
  }
}

/** A slot of the recorder: its offset is the tensor's number. */
const slotOf = (offset: number, shape: Shape): Slot =>
  ({ offset, shape, type: 'f32', buffer: null }) as unknown as Slot

/** The words of one case, and the names of its results in their order. */
function encodeCase(test: KernelCase, values: Values): { words: number[]; results: Recorded[] } {
  const recorder = new Recorder()
  const scratch = recorder.add({ name: 'scratch', kind: 'scratch', shape: [1, 1, 1, 1] })
  const inputs = Object.entries(test.inputs).map(([name, shape]) => {
    const data = needed(values[name])
    return [name, recorder.add({ name, kind: 'input', shape: shapeOf(...shape), data })] as const
  })
  const matrices = Object.entries(test.matrices ?? {}).map(([name, [columns = 0, rows = 0]]) => {
    const shape = shapeOf(columns, rows)
    const other = recorder.tensors.findIndex((tensor) => tensor.name === name.slice(0, -1))
    const index = name.endsWith('ᵀ')
      ? recorder.add({ name, kind: 'turned', shape, other })
      : recorder.add({ name, kind: 'matrix', shape, data: needed(values[name]) })
    return [name, { slot: slotOf(index, shape), rows, columns }] as [string, Panels]
  })
  const onto = inputs.find(([name]) => name === test.inPlace)?.[1]
  const shape = shapeOf(...test.result)
  const result = recorder.add(
    onto === undefined
      ? { name: 'y', kind: 'result', shape }
      : { name: 'y', kind: 'alias', shape, other: onto },
  )
  const beside = Object.entries(test.beside ?? {}).map(([name, sizes]) => {
    return [name, recorder.add({ name, kind: 'result', shape: shapeOf(...sizes) })] as const
  })
  const tensors = (list: readonly (readonly [string, number])[]) =>
    Object.fromEntries(list.map(([name, index]) => [name, recorder.tensorOf(index)]))
  test.build(
    recorder.graph(),
    { kernels: fakeKernels, scratch: slotOf(scratch, [1, 1, 1, 1]) },
    {
      inputs: tensors(inputs),
      panels: Object.fromEntries(matrices),
      beside: tensors(beside),
    },
  )
  const results = [result, ...beside.map(([, index]) => index)]
  const { tokens, headSize, width } = test.scratch
  const words = [
    ...[tokens, headSize, width, recorder.tensors.length],
    ...recorder.tensors.flatMap(tensorWords),
    recorder.calls.length,
    ...recorder.calls.flatMap(({ operator, low, bits, sources }) => {
      return [operator, result, low, bits, sources.length, ...sources]
    }),
    ...[results.length, ...results],
  ]
  return { words, results: results.map((index) => needed(recorder.tensors[index])) }
}

function tensorWords({ kind, shape, strides, other, count, data }: Recorded): number[] {
  const head = [kinds[kind], ...shape, ...strides, other, count]
  if (data === null) return head
  return head.concat(Array.from(new Int32Array(data.buffer, data.byteOffset, data.length)))
}

export interface Recording {
  readonly input: Buffer
  /** The results of every case from what driver.c wrote. */
  decode(output: Buffer): Results[]
}

/** Strided inputs are given packed here. */
export function record(
  cases: readonly { readonly test: KernelCase; readonly values: Values }[],
): Recording {
  const encoded = cases.map(({ test, values }) => encodeCase(test, values))
  const words = [encoded.length, ...encoded.flatMap((one) => one.words)]
  return {
    input: Buffer.from(Int32Array.from(words).buffer),
    decode(output) {
      let at = 0
      const take = ({ name, count }: Recorded): [string, Float32Array] => {
        const bytes = Uint8Array.from(output.subarray(at, (at += 4 * count)))
        return [name, new Float32Array(bytes.buffer)]
      }
      const all = encoded.map(({ results }) => Object.fromEntries(results.map(take)))
      if (at !== output.length) throw new Error(`${output.length} bytes of results, not ${at}`)
      return all
    },
  }
}
