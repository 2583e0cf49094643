// A graph under construction and its execution in segments. Nodes run in the order in which they were made, so
// in-place operators and copies behave as written. ggml fuses nothing across such graphs: their use counts are
// empty, hence cutting a graph into segments cannot change a bit of its result.
import { AppError } from '../../../shared/errors.ts'
import { allocatorAddress, type Allocator } from './allocator.ts'
import { GGML_STATUS_SUCCESS } from './ggml.gen.ts'
import type { Pointer } from './pointer.ts'
import type { Runtime, Slot } from './runtime.ts'
import type { Scope } from './scope.ts'
import { addressOf, byteLength, makeTensor, shapeOf, typeNumbers, type Tensor } from './tensor.ts'

/** Waits, where the budget of work since the last pause is spent, before `cost` more is done. */
export interface Pacer {
  before(cost: number): Promise<void>
  /** Largest cost that one segment may have. */
  readonly budget: number
}

interface GraphNode {
  readonly address: Pointer<'ggml_tensor'>
  /** Estimated work, in multiply-adds. */
  readonly cost: number
  /** The backend lacks the operator. */
  readonly onHost: boolean
}

const maxTensors = 4096

export class Graph implements Disposable {
  readonly runtime: Runtime
  readonly context: Pointer<'ggml_context'>
  readonly #scope: Scope
  readonly #nodes: GraphNode[] = []
  readonly #constants: { readonly tensor: Tensor; readonly values: Float32Array }[] = []
  #tensors = 0

  constructor(runtime: Runtime) {
    this.runtime = runtime
    this.#scope = runtime.newScope()
    const perTensor = runtime.functions.ggml_tensor_overhead()
    this.context = runtime.createContext(this.#scope, perTensor * maxTensors)
  }

  /** The tensor stored in `slot`, as an input of this graph. */
  leaf(slot: Slot): Tensor {
    this.#countTensor()
    return this.runtime.placeTensor(this.context, slot)
  }

  /** Appends an operator's result; called by raw-ops.ts. */
  append(tensor: Tensor, cost: number): Tensor {
    this.#countTensor()
    // Views cost nothing, and nothing is computed for them.
    const onHost = cost > 0 && !this.runtime.supports(tensor)
    this.#nodes.push({ address: addressOf(tensor), cost, onHost })
    return tensor
  }

  /** Appends one operator where the backend has it; else null, and the graph is as before. */
  attempt(build: () => Tensor): Tensor | null {
    const before = this.#nodes.length
    const tensor = build()
    if (this.#nodes.at(-1)?.onHost !== true) return tensor
    this.#nodes.length = before
    return null
  }

  /** A small f32 input that is written before the graph runs. */
  constant(values: Float32Array, ...sizes: readonly number[]): Tensor {
    const shape = shapeOf(...sizes)
    if (values.byteLength !== byteLength(shape))
      throw new Error('a constant does not fill its shape')
    this.#countTensor()
    const { functions } = this.runtime
    const address = functions.ggml_new_tensor_4d(this.context, typeNumbers.f32, ...shape)
    const tensor = makeTensor(address, { shape })
    this.#constants.push({ tensor, values })
    return tensor
  }

  /** ggml aborts the process when its context is full, so the last places stay free. */
  #countTensor(): void {
    this.#tensors += 1
    if (this.#tensors > maxTensors - 2)
      throw new AppError('too-large', 'a graph has too many nodes')
  }

  /** Makes an operator write its result into `slot`. */
  into(slot: Slot, tensor: Tensor): Tensor {
    const { runtime } = this
    if (runtime.device === 'cpu' || slot.offset % runtime.alignment === 0) {
      runtime.bind(tensor, slot)
      return tensor
    }
    // Few operators of a GPU write to any place; copies do.
    const target = addressOf(this.leaf(slot))
    const address = runtime.functions.ggml_cpy(this.context, addressOf(tensor), target)
    return this.append(makeTensor(address, { shape: slot.shape }), byteLength(slot.shape))
  }

  /** Protects a scratch result from being overwritten, so that it can be read after the run. */
  keep(tensor: Tensor): Tensor {
    this.runtime.functions.ggml_set_output(addressOf(tensor))
    return tensor
  }

  /** Allocates scratch memory, then computes all nodes, pausing between segments. */
  async run(allocator: Allocator, pacer: Pacer): Promise<void> {
    if (this.#nodes.length === 0) return
    const whole = this.#makeGraph(this.#scope, this.#nodes, 'with inputs')
    if (!this.runtime.functions.ggml_gallocr_alloc_graph(allocatorAddress(allocator), whole)) {
      throw new AppError('out-of-memory', 'ggml could not allocate scratch memory for a graph')
    }
    for (const { tensor, values } of this.#constants) this.runtime.write(tensor, values)
    for (const segment of cutSegments(this.#nodes, pacer.budget)) {
      await pacer.before(segment.reduce((sum, node) => sum + node.cost, 0))
      for (const part of cutPlaces(segment)) this.#compute(part)
    }
  }

  #compute(segment: readonly GraphNode[]): void {
    const [first] = segment
    if (first?.onHost === true) return this.runtime.hostFallback.compute(first.address)
    using scope = this.runtime.newScope()
    const graph = this.#makeGraph(scope, segment)
    const status = this.runtime.functions.ggml_backend_graph_compute(this.runtime.backend, graph)
    if (status !== GGML_STATUS_SUCCESS) {
      throw new AppError('internal', `ggml could not compute a graph (status ${status})`)
    }
  }

  /**
   * The allocator needs the inputs listed too, so it gets a graph made by `build_forward_expand`. Nodes are added
   * in the order of creation, when all their parents are present, hence the order is the same.
   */
  #makeGraph(
    scope: Scope,
    nodes: readonly GraphNode[],
    content: 'nodes' | 'with inputs' = 'nodes',
  ): Pointer<'ggml_cgraph'> {
    const { functions } = this.runtime
    // A node has at most three inputs here; twice the nodes is ample for distinct ones.
    const capacity = content === 'nodes' ? nodes.length : 2 * nodes.length + 64
    const size = functions.ggml_graph_overhead_custom(capacity, false)
    const context = this.runtime.createContext(scope, size)
    const graph = functions.ggml_new_graph_custom(context, capacity, false)
    if (graph === null) throw new AppError('out-of-memory', 'ggml could not create a graph')
    const add = content === 'nodes' ? 'ggml_graph_add_node' : 'ggml_build_forward_expand'
    for (const node of nodes) functions[add](graph, node.address)
    return graph
  }

  [Symbol.dispose](): void {
    this.#scope[Symbol.dispose]()
  }
}

/** Single operators for the CPU, and what lies between them. */
function cutPlaces(nodes: readonly GraphNode[]): (readonly GraphNode[])[] {
  if (!nodes.some(({ onHost }) => onHost)) return [nodes]
  const parts: GraphNode[][] = []
  for (const node of nodes) {
    const last = parts.at(-1)
    if (last === undefined || node.onHost || last[0]?.onHost === true) parts.push([node])
    else last.push(node)
  }
  return parts
}

/** Cuts by estimated cost only, never by thread count, so results do not depend on it. */
function cutSegments(nodes: readonly GraphNode[], budget: number): GraphNode[][] {
  const segments: GraphNode[][] = []
  let current: GraphNode[] = []
  let spent = 0
  for (const node of nodes) {
    if (current.length > 0 && spent + node.cost > budget) {
      segments.push(current)
      current = []
      spent = 0
    }
    current.push(node)
    spent += node.cost
  }
  if (current.length > 0) segments.push(current)
  return segments
}
