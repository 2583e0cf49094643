// Rotary position embedding over neighbouring channels or over the two halves of a head: which of them depends on
// the order in which a model's file holds the rows of q and k. Orthogonal: the gradient is the inverse rotation.
import { ops } from '../../ffi/index.ts'
import type { Op } from './op.ts'

export type RopeParams = Parameters<typeof ops.rope>[2]

export const rope = {
  name: 'rope',
  inputs: ['x', 'positions'],
  shape({ x, positions }) {
    if (x[2] !== positions[0]) throw new Error(`rope: ${x[2]} tokens, ${positions[0]} positions`)
    return x // [D, H, T]
  },
  forward(g, { x, positions }, params) {
    return ops.rope(g, { x, positions }, params) // [D, H, T]
  },
  backward(g, { inputs: { positions }, grad }, params) {
    return { x: ops.ropeBack(g, { x: grad, positions }, params) } // [D, H, T]
  },
} satisfies Op<'x' | 'positions', RopeParams>
