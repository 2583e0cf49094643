// The only door to native code: handles and operators, never addresses.
export { Arena } from './arena.ts'
export { dequantise } from './dequantise.ts'
export { Graph, type Pacer } from './graph.ts'
export { ops } from './ops.ts'
export { Runtime, type Slot } from './runtime.ts'
export { Allocator } from './allocator.ts'
export { shapeOf, type Shape, type Tensor } from './tensor.ts'
export { tensorTypes } from './ggml.gen.ts'
