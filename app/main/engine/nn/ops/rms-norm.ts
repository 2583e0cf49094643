// Root-mean-square norm with a weight per channel: y = x / rms(x) · w. The weight is frozen: no gradient.
import { ops, type Tensor } from '../../ffi/index.ts'
import type { Op } from './op.ts'

export const rmsNorm = {
  name: 'rmsNorm',
  inputs: ['x', 'weight'],
  shape({ x, weight }) {
    if (x[0] !== weight[0]) throw new Error(`rmsNorm: ${x[0]} channels, ${weight[0]} weights`)
    return x // [C, T]
  },
  forward(g, { x, weight }, { epsilon }): Tensor {
    return ops.mul(g, ops.rmsNorm(g, x, epsilon), weight) // [C, T]
  },
  backward(g, { inputs: { x, weight }, grad }, { epsilon }) {
    const dy = ops.mul(g, grad, weight) // [C, T]
    return { x: ops.rmsNormBack(g, { dy, x }, epsilon) } // [C, T]
  },
} satisfies Op<'x' | 'weight', { readonly epsilon: number }>
