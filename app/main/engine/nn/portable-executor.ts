// A call on ggml's operators alone, in f32: the reference, and what runs where no kernels of ours do.
import { Graph, type Slot } from '../ffi/index.ts'
import type { AdapterGradients } from '../types.ts'
import type { Executor, GatherRequest, HeadScores } from './executor.ts'
import { gatheredBackward, headKl, headScores, type HeadCall } from './head.ts'
import { backwardPass, forwardPass, type Pass } from './passes.ts'

export interface PortableCall {
  readonly tokens: Int32Array
  readonly pass: Pass
  readonly head: HeadCall
  /** Where the base's hidden states go, [C, R]. */
  readonly baseHidden: Slot | null
}

export class PortableExecutor implements Executor {
  readonly #call: PortableCall

  constructor(call: PortableCall) {
    this.#call = call
  }

  forward(): Promise<void> {
    return forwardPass(this.#call.pass, this.#call.tokens)
  }

  readHidden(): Float32Array {
    const { work, plan, info } = this.#call.pass
    using g = new Graph(work.runtime)
    return work.runtime.read(g.leaf(plan.hidden), new Float32Array(info.width * plan.R))
  }

  scores(request: GatherRequest): Promise<HeadScores> {
    return headScores(this.#call.head, request)
  }

  scoresBackward(request: GatherRequest, gradient: Float32Array): Promise<void> {
    return gatheredBackward(this.#call.head, { ...request, gradient, output: this.#output() })
  }

  kl(baseHidden: Float32Array, factor: number | null): Promise<Float32Array> {
    const slot = this.#call.baseHidden
    if (slot === null) throw new Error("the plan has no room for the base's states")
    {
      using g = new Graph(this.#call.pass.work.runtime)
      g.runtime.write(g.leaf(slot), baseHidden)
    }
    const backward = factor === null ? null : { factor, output: this.#output() }
    return headKl(this.#call.head, { baseHidden: slot, backward })
  }

  backward(gradients: AdapterGradients): Promise<void> {
    const { pass } = this.#call
    if (pass.adapter === null) throw new Error('the base model has no gradients')
    return backwardPass(pass, pass.adapter, gradients)
  }

  #output(): Slot {
    const { backward } = this.#call.pass.plan
    if (backward === null) throw new Error('the plan has no room for a backward pass')
    return backward.dHidden
  }
}
