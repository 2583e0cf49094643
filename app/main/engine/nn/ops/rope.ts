// Rotary position embedding over neighbouring pairs (GGUF files of the llama architecture hold q and k rows in
// that order). Orthogonal, so its gradient is the inverse rotation.
import { ops } from '../../ffi/index.ts'
import type { Op } from './op.ts'

export interface RopeParams {
  readonly dimensions: number
  readonly contextLength: number
  readonly base: number
}

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
