// Gated activation: y = silu(gate) · up.
import { ops } from '../../ffi/index.ts'
import type { Op } from './op.ts'

export const swiglu = {
  name: 'swiglu',
  inputs: ['gate', 'up'],
  shape({ gate, up }) {
    if (gate[0] !== up[0] || gate[1] !== up[1]) throw new Error('swiglu: gate and up differ')
    return gate // [F, T]
  },
  forward(g, { gate, up }) {
    return ops.swigluSplit(g, gate, up) // [F, T]
  },
  backward(g, { inputs: { gate, up }, grad }) {
    return {
      gate: ops.siluBack(g, ops.mul(g, grad, up), gate), // [F, T]
      up: ops.mul(g, grad, ops.silu(g, gate)), // [F, T]
    }
  },
} satisfies Op<'gate' | 'up', object>
