// Computes single operators that the device lacks on the CPU, through ggml's scheduler: inputs are copied there, the
// result back into the memory that the device's graph gave it. The scheduler may not place an operator whose result
// has memory on the device, so it gets a twin without memory, followed by a copy.
import { AppError } from '../../../shared/errors.ts'
import { GGML_STATUS_SUCCESS, GGML_TYPE_F32, type GgmlFunctions } from './ggml.gen.ts'
import { copyOperator, markForComputing, sourcesOf } from './operator-memory.ts'
import type { Pointer } from './pointer.ts'
import type { Scope } from './scope.ts'

type NativeTensor = Pointer<'ggml_tensor'>

export interface FallbackHost {
  readonly functions: GgmlFunctions
  readonly scope: Scope
  readonly newScope: () => Scope
  readonly createContext: (scope: Scope, sizeBytes: number) => Pointer<'ggml_context'>
  readonly device: Pointer<'ggml_backend'>
  readonly cpu: Pointer<'ggml_backend'>
}

export interface HostFallback {
  /** `node` is an operator whose inputs are computed and whose memory is allocated. */
  compute(node: NativeTensor): void
}

/** More tensors than an operator's graph can touch: ten inputs, what they are views of, their copies. */
const graphSize = 128

export function createHostFallback(host: FallbackHost): HostFallback {
  const { functions, device, cpu } = host
  const backends = BigUint64Array.of(device, cpu)
  const made = functions.ggml_backend_sched_new(backends, null, 2, graphSize, false, false)
  if (made === null) throw new AppError('out-of-memory', 'ggml could not create a scheduler')
  const scheduler = host.scope.own(made, (s) => functions.ggml_backend_sched_free(s))
  reserve(host, scheduler)
  return {
    compute(node) {
      using scope = host.newScope()
      const { graph, twin, copy } = makeGraph(host, scope, node)
      functions.ggml_backend_sched_reset(scheduler)
      const place = (tensor: NativeTensor, backend: Pointer<'ggml_backend'>): void =>
        functions.ggml_backend_sched_set_tensor_backend(scheduler, tensor, backend)
      for (const source of sourcesOf(node)) place(source, device)
      place(twin, cpu)
      place(node, device)
      place(copy, device)
      if (!functions.ggml_backend_sched_alloc_graph(scheduler, graph)) {
        throw new AppError('out-of-memory', 'ggml could not allocate memory for the CPU')
      }
      const status = functions.ggml_backend_sched_graph_compute(scheduler, graph)
      if (status !== GGML_STATUS_SUCCESS) {
        throw new AppError('internal', `ggml could not compute on the CPU (status ${status})`)
      }
    },
  }
}

/**
 * The scheduler's tables are as large as its largest graph, and inputs that are no nodes count there too: a first
 * graph of empty nodes makes them large enough.
 */
function reserve(host: FallbackHost, scheduler: Pointer<'ggml_backend_sched'>): void {
  const { functions } = host
  using scope = host.newScope()
  const count = graphSize / 2
  const size =
    functions.ggml_graph_overhead_custom(count, false) + count * functions.ggml_tensor_overhead()
  const context = host.createContext(scope, size)
  const graph = functions.ggml_new_graph_custom(context, count, false)
  for (let i = 0; i < count; i += 1) {
    const node = functions.ggml_new_tensor_4d(context, GGML_TYPE_F32, 1, 1, 1, 1)
    functions.ggml_graph_add_node(graph, node)
  }
  if (!functions.ggml_backend_sched_reserve(scheduler, graph)) {
    throw new AppError('out-of-memory', 'ggml could not allocate memory for its scheduler')
  }
}

function makeGraph(
  host: FallbackHost,
  scope: Scope,
  node: NativeTensor,
): { graph: Pointer<'ggml_cgraph'>; twin: NativeTensor; copy: NativeTensor } {
  const { functions } = host
  const size =
    functions.ggml_graph_overhead_custom(graphSize, false) + 4 * functions.ggml_tensor_overhead()
  const context = host.createContext(scope, size)
  const graph = functions.ggml_new_graph_custom(context, graphSize, false)
  const twin = functions.ggml_dup_tensor(context, node)
  if (graph === null || twin === null) throw new Error('ggml returned no graph')
  copyOperator(node, twin)
  const copy = functions.ggml_cpy(context, twin, node)
  if (copy === null) throw new Error('ggml returned no copy')
  for (const tensor of [twin, copy]) {
    markForComputing(tensor)
    functions.ggml_graph_add_node(graph, tensor)
  }
  return { graph, twin, copy }
}
