// A model on a GPU with its gradients scaled up by a power of two during the backward pass and down again when they
// are added: a device may round the factors of products to f16, whose smallest normal number is 6e-5, while the
// gradient of one position of a long reply lies below. In f32 such a factor changes no bit.
import { checkGradients, createGradients } from '../nn/adapter.ts'
import type { AdapterGradients, EngineModel } from '../types.ts'

/** Where the largest number of the head's gradient is put; f16 reaches to 65504, so growth has room above. */
const target = 16

export function scaleGradients(model: EngineModel): EngineModel {
  const scaled: EngineModel = {
    info: model.info,
    memoryPlan: (request) => model.memoryPlan(request),
    createAdapter: (options) => model.createAdapter(options),
    readAdapter: (path) => model.readAdapter(path),
    createGradients: (adapter) => model.createGradients(adapter),
    score: (request) => model.score(request),
    scoreAll: (requests) => model.scoreAll(requests),
    hidden: (request) => model.hidden(request),
    kl: (request) => model.kl(request),
    async backward(request) {
      checkGradients(request.adapter, request.gradients)
      const gradients = createGradients(request.adapter)
      let factor = 1
      const result = await model.backward({
        ...request,
        gradients,
        loss(logProbs) {
          const { loss, gradient } = request.loss(logProbs)
          factor = factorFor(gradient.reduce((most, x) => Math.max(most, Math.abs(x)), 0))
          return { loss, gradient: gradient.map((x) => x * factor) }
        },
      })
      addScaled(request.gradients, gradients, 1 / factor)
      return result
    },
    async backwardAll(requests) {
      const results = []
      for (const request of requests) results.push(await scaled.backward(request))
      return results
    },
    async klBackward(request) {
      checkGradients(request.adapter, request.gradients)
      const gradients = createGradients(request.adapter)
      const positions = request.tokens.length - request.responseStart
      const factor = factorFor(Math.abs(request.weight) / positions)
      const weight = request.weight * factor
      const result = await model.klBackward({ ...request, gradients, weight })
      addScaled(request.gradients, gradients, 1 / factor)
      return result
    },
    [Symbol.asyncDispose]: () => model[Symbol.asyncDispose](),
  }
  return scaled
}

/** The power of two that brings `largest` near the target; 1 where there is nothing to scale. */
function factorFor(largest: number): number {
  if (!(largest > 0) || !Number.isFinite(largest)) return 1
  return 2 ** Math.round(Math.log2(target / largest))
}

function addScaled(to: AdapterGradients, from: AdapterGradients, factor: number): void {
  const add = (target: Float32Array | undefined, source: Float32Array): void => {
    if (target === undefined) throw new Error('a gradient is missing')
    for (let i = 0; i < source.length; i += 1)
      target[i] = (target[i] as number) + (source[i] as number) * factor
  }
  from.tensors.forEach(({ a, b }, i) => {
    add(to.tensors[i]?.a, a)
    add(to.tensors[i]?.b, b)
  })
}
