// One row of the op table: a shape rule, the forward graph and the vector–Jacobian product, written by hand.
// Shapes are in ggml's order, fastest axis first.
import type { Graph, Shape, Tensor } from '../../ffi/index.ts'

export interface Op<Input extends string, Params> {
  readonly name: string
  readonly inputs: readonly Input[]
  /** Shape of the result; throws where the inputs do not fit. */
  shape(inputs: Readonly<Record<Input, Shape>>, params: Params): Shape
  forward(g: Graph, inputs: Readonly<Record<Input, Tensor>>, params: Params): Tensor
  /** Gradients of the inputs that can have one, given the gradient of the result. */
  backward(
    g: Graph,
    call: { readonly inputs: Readonly<Record<Input, Tensor>>; readonly grad: Tensor },
    params: Params,
  ): Partial<Record<Input, Tensor>>
}
