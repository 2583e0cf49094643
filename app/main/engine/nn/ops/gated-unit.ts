// Gated activation: y = f(gate) · up, where f is silu, or gelu in its tanh form
//   gelu(x) = x · (1 + t) / 2,  t = tanh(k (x + c x³)),  k = √(2 / π),  c = 0.044715.
// gelu stands on elementary operators: ggml's own looks an f16 table up on a CPU, and has no gradient.
import { ops, type Graph, type Tensor } from '../../ffi/index.ts'
import type { Op } from './op.ts'

export interface GatedUnitParams {
  readonly activation: 'silu' | 'gelu'
}

const k = Math.sqrt(2 / Math.PI)
const c = 0.044715

export const gatedUnit = {
  name: 'gatedUnit',
  inputs: ['gate', 'up'],
  shape({ gate, up }) {
    if (gate[0] !== up[0] || gate[1] !== up[1]) throw new Error('gatedUnit: gate and up differ')
    return gate // [F, T]
  },
  forward(g, { gate, up }, { activation }): Tensor {
    if (activation === 'silu') return ops.swigluSplit(g, gate, up) // [F, T]
    return ops.mul(g, gelu(g, gate, geluParts(g, gate)), up) // [F, T]
  },
  backward(g, { inputs: { gate, up }, grad }, { activation }) {
    const toActivation = ops.mul(g, grad, up) // [F, T]
    if (activation === 'silu') {
      return {
        gate: ops.siluBack(g, toActivation, gate), // [F, T]
        up: ops.mul(g, grad, ops.silu(g, gate)), // [F, T]
      }
    }
    const parts = geluParts(g, gate)
    return {
      gate: ops.mul(g, toActivation, geluSlope(g, gate, parts)), // [F, T]
      up: ops.mul(g, grad, gelu(g, gate, parts)), // [F, T]
    }
  },
} satisfies Op<'gate' | 'up', GatedUnitParams>

interface GeluParts {
  readonly square: Tensor // x², [F, T]
  readonly t: Tensor // [F, T]
}

function geluParts(g: Graph, x: Tensor): GeluParts {
  const square = ops.mul(g, x, x)
  const perX = ops.scaleAndShift(g, square, { factor: k * c, offset: k }) // k (1 + c x²)
  return { square, t: ops.tanh(g, ops.mul(g, perX, x)) }
}

function gelu(g: Graph, x: Tensor, { t }: GeluParts): Tensor {
  return ops.mul(g, ops.scaleAndShift(g, t, { factor: 0.5, offset: 0.5 }), x)
}

/** d gelu / dx = (1 + t) / 2 + x (1 − t²) / 2 · k (1 + 3 c x²). */
function geluSlope(g: Graph, x: Tensor, { square, t }: GeluParts): Tensor {
  const inner = ops.scaleAndShift(g, square, { factor: 3 * k * c, offset: k })
  const bend = ops.scaleAndShift(g, ops.mul(g, t, t), { factor: -0.5, offset: 0.5 }) // (1 − t²) / 2
  const rest = ops.mul(g, ops.mul(g, bend, x), inner)
  return ops.add(g, ops.scaleAndShift(g, t, { factor: 0.5, offset: 0.5 }), rest)
}
