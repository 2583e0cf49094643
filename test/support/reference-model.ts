// An engine model small enough to be written out: x_t = E[token_t] + x_{t−1} / 2, h_t = W x_t + (alpha / r) B A x_t,
// logits = H h_t. Exact gradients in plain loops, so that recipes are tested without native code. Not a language model.
import { readFile, writeFile } from 'node:fs/promises'
import { AppError } from '../../app/shared/errors.ts'
import type {
  Adapter,
  AdapterGradients,
  EngineModel,
  ModelInfo,
  ScoreRequest,
  SequenceRequest,
} from '../../app/main/engine/types.ts'

export interface ReferenceModel extends EngineModel {
  /** Calls so far, by name. */
  readonly calls: Record<string, number>
}

const width = 8

/** Plain repeatable numbers in [−1, 1). */
function numbers(seed: number, length: number): Float32Array {
  let state = seed * 7919 + 1
  return Float32Array.from({ length }, () => {
    state = (state * 48271) % 2147483647
    return (state / 2147483647) * 2 - 1
  })
}

const product = (matrix: Float32Array, vector: ArrayLike<number>): number[] => {
  const columns = vector.length
  return Array.from({ length: matrix.length / columns }, (_, row) => {
    let sum = 0
    for (let c = 0; c < columns; c++) sum += (matrix[row * columns + c] ?? 0) * (vector[c] ?? 0)
    return sum
  })
}

const transposed = (matrix: Float32Array, vector: ArrayLike<number>): number[] => {
  const columns = matrix.length / vector.length
  return Array.from({ length: columns }, (_, c) => {
    let sum = 0
    for (let row = 0; row < vector.length; row++) {
      sum += (matrix[row * columns + c] ?? 0) * (vector[row] ?? 0)
    }
    return sum
  })
}

const addOuter = (target: Float32Array, rows: ArrayLike<number>, columns: ArrayLike<number>) => {
  for (let r = 0; r < rows.length; r++) {
    for (let c = 0; c < columns.length; c++) {
      const place = r * columns.length + c
      target[place] = (target[place] ?? 0) + (rows[r] ?? 0) * (columns[c] ?? 0)
    }
  }
}

const logSoftmax = (logits: readonly number[]): number[] => {
  const top = Math.max(...logits)
  const total = Math.log(logits.reduce((sum, value) => sum + Math.exp(value - top), 0)) + top
  return logits.map((value) => value - total)
}

interface Position {
  readonly input: number[]
  readonly hidden: number[]
  readonly logProbs: number[]
}

export function createReferenceModel(options: { readonly vocabulary: number }): ReferenceModel {
  const { vocabulary } = options
  const embedding = numbers(1, vocabulary * width)
  const weight = numbers(2, width * width)
  const head = numbers(3, vocabulary * width)
  const calls: Record<string, number> = {}
  const info: ModelInfo = {
    architecture: 'reference',
    layers: 1,
    width,
    feedForward: 0,
    heads: 1,
    keyValueHeads: 1,
    headSize: width,
    vocabulary,
    contextLength: 4096,
    ropeBase: 1,
    normEpsilon: 1,
    tiedHead: false,
  }
  const pair = (adapter: Adapter) => {
    const tensor = adapter.tensors[0]
    if (tensor === undefined) throw new Error('the reference model has one adapter tensor')
    return { ...tensor, scale: adapter.alpha / adapter.rank }
  }
  const gradientPair = (gradients: AdapterGradients) => {
    const tensor = gradients.tensors[0]
    if (tensor === undefined) throw new Error('the reference model has one adapter tensor')
    return tensor
  }

  async function forward(request: SequenceRequest): Promise<Position[]> {
    await request.yieldPoint?.()
    if (request.responseStart < 1 || request.responseStart >= request.tokens.length) {
      throw new AppError('invalid-input', 'a sequence needs a prompt and a response')
    }
    let state: number[] = new Array<number>(width).fill(0)
    const positions: Position[] = []
    request.tokens.slice(0, -1).forEach((token, t) => {
      state = state.map((value, c) => value / 2 + (embedding[token * width + c] ?? 0))
      if (t + 1 < request.responseStart) return
      const hidden = product(weight, state)
      if (request.adapter !== null) {
        const { a, b, scale } = pair(request.adapter)
        product(b, product(a, state)).forEach((value, c) => {
          hidden[c] = (hidden[c] ?? 0) + scale * value
        })
      }
      const logits = product(head, hidden).map((value) => value / request.temperature)
      positions.push({ input: state, hidden, logProbs: logSoftmax(logits) })
    })
    return positions
  }

  function accumulate(
    position: Position,
    dLogits: ArrayLike<number>,
    target: { readonly adapter: Adapter; readonly gradients: AdapterGradients },
  ): void {
    const { a, b, scale } = pair(target.adapter)
    const gradient = gradientPair(target.gradients)
    const dHidden = transposed(head, dLogits).map((value) => value * scale)
    addOuter(gradient.b, dHidden, product(a, position.input))
    addOuter(gradient.a, transposed(b, dHidden), position.input)
  }

  const count = (name: string) => {
    calls[name] = (calls[name] ?? 0) + 1
  }
  const gather = (positions: readonly Position[], ids: Int32Array): Float32Array => {
    const columns = ids.length / positions.length
    return Float32Array.from(ids, (id, index) => {
      const row = positions[Math.floor(index / columns)]
      const value = row?.logProbs[id]
      if (value === undefined) throw new AppError('invalid-input', `no token ${id}`)
      return value
    })
  }
  const top = (positions: readonly Position[], k: number) => {
    const order = positions.map(({ logProbs }) =>
      logProbs
        .map((_, id) => id)
        .sort((x, y) => (logProbs[y] ?? 0) - (logProbs[x] ?? 0) || x - y)
        .slice(0, k),
    )
    const topIds = Int32Array.from(order.flat())
    return { topIds, topLogProbs: k === 0 ? new Float32Array() : gather(positions, topIds) }
  }
  const baseLogProbs = (baseHidden: Float32Array, t: number, temperature: number) => {
    const hidden = baseHidden.subarray(t * width, (t + 1) * width)
    return logSoftmax(product(head, hidden).map((value) => value / temperature))
  }
  const divergence = (base: readonly number[], now: readonly number[]) =>
    base.reduce((sum, value, id) => sum + Math.exp(value) * (value - (now[id] ?? 0)), 0)

  const model: ReferenceModel = {
    calls,
    info,
    createAdapter: ({ rank, alpha, seed }) => ({
      rank,
      alpha,
      revision: 0,
      tensors: [
        {
          name: 'blk.0.attn_q.weight',
          inFeatures: width,
          outFeatures: width,
          a: numbers(seed + 10, rank * width),
          b: new Float32Array(width * rank),
        },
      ],
    }),
    memoryPlan: () => {
      throw new Error('the reference model has no memory plan')
    },
    readAdapter: readReferenceAdapter,
    createGradients: (adapter) => ({
      tensors: adapter.tensors.map(({ a, b }) => ({
        a: new Float32Array(a.length),
        b: new Float32Array(b.length),
      })),
    }),
    scoreAll: (requests) => inOrder(requests, (request) => model.score(request)),
    backwardAll: (requests) => inOrder(requests, (request) => model.backward(request)),
    async score(request: ScoreRequest) {
      count('score')
      const positions = await forward(request)
      const { tokens, responseStart, gatherIds, topK } = request
      return {
        sampled: gather(positions, tokens.slice(responseStart)),
        gathered: gatherIds === undefined ? new Float32Array() : gather(positions, gatherIds),
        ...top(positions, topK ?? 0),
      }
    },
    async hidden(request) {
      count('hidden')
      return Float32Array.from((await forward(request)).flatMap(({ hidden }) => hidden))
    },
    async backward(request) {
      count('backward')
      const positions = await forward(request)
      const gathered = gather(positions, request.gatherIds)
      const { loss, gradient } = request.loss(gathered)
      const columns = gathered.length / positions.length
      positions.forEach((position, t) => {
        const dLogits = new Array<number>(vocabulary).fill(0)
        for (let column = 0; column < columns; column++) {
          const slope = (gradient[t * columns + column] ?? 0) / request.temperature
          const id = request.gatherIds[t * columns + column] ?? 0
          position.logProbs.forEach((value, v) => {
            dLogits[v] = (dLogits[v] ?? 0) + slope * ((v === id ? 1 : 0) - Math.exp(value))
          })
        }
        accumulate(position, dLogits, request)
      })
      return { loss, gathered }
    },
    async kl(request) {
      count('kl')
      const positions = await forward(request)
      return Float32Array.from(positions, ({ logProbs }, t) =>
        divergence(baseLogProbs(request.baseHidden, t, request.temperature), logProbs),
      )
    },
    async klBackward(request) {
      count('klBackward')
      const positions = await forward(request)
      let kl = 0
      positions.forEach((position, t) => {
        const base = baseLogProbs(request.baseHidden, t, request.temperature)
        kl += divergence(base, position.logProbs) / positions.length
        const factor = request.weight / positions.length / request.temperature
        const dLogits = position.logProbs.map(
          (value, id) => factor * (Math.exp(value) - Math.exp(base[id] ?? 0)),
        )
        accumulate(position, dLogits, request)
      })
      return { kl }
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
  return model
}

async function inOrder<Request, Result>(
  requests: readonly Request[],
  run: (request: Request) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (const request of requests) results.push(await run(request))
  return results
}

/** The reference model's own file: JSON, exact for 32-bit floats. */
export async function writeReferenceAdapter(path: string, adapter: Adapter): Promise<void> {
  const tensors = adapter.tensors.map(({ a, b, ...rest }) => ({ ...rest, a: [...a], b: [...b] }))
  await writeFile(path, JSON.stringify({ ...adapter, revision: 0, tensors }))
}

async function readReferenceAdapter(path: string): Promise<Adapter> {
  const { tensors, ...rest } = JSON.parse(await readFile(path, 'utf8')) as Adapter
  return {
    ...rest,
    tensors: tensors.map((tensor) => ({
      ...tensor,
      a: Float32Array.from(tensor.a),
      b: Float32Array.from(tensor.b),
    })),
  }
}
