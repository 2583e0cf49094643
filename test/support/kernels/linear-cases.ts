// Products and sums of outer products.
import { ops } from '../../../app/main/engine/ffi/index.ts'
import { randomTensor } from '../numerics.ts'
import type { KernelCase, Rounding, Values } from './bench.ts'
import { at, multiply, outer, sum, type Numbers } from './plain.ts'
import { needed } from './needed.ts'

export const randomValues = (
  label: string,
  shapes: Readonly<Record<string, readonly number[]>>,
): Record<string, Float32Array> =>
  Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => {
      const count = shape.reduce((product, n) => product * n, 1)
      return [name, randomTensor(`${label}/${name}`, count, { scale: 1 })]
    }),
  )

const scratch = { tokens: 1, headSize: 16, width: 16 }

/** Two factors rounded to bf16 (8 bits) differ by 2.4e-3 (root mean square) from what was meant. */
const twoRoundedFactors = (independent: number): Rounding => ({
  bound: 4e-3,
  independent,
  givenOnly: true,
})

interface ProductSize {
  readonly n: number
  readonly k: number
  readonly T: number
  /** Columns of the second factor. */
  readonly p?: number
  readonly added?: 'residual' | 'bias'
  readonly strided?: readonly string[]
}

function productCase(size: ProductSize): KernelCase {
  const { n, k, T, p = 0, added, strided = [] } = size
  const inputs: Record<string, readonly number[]> = { x: [k, T] }
  const matrices: Record<string, readonly number[]> = { w: [k, n] }
  if (p > 0)
    [inputs['h'], matrices['b']] = [
      [p, T],
      [p, n],
    ]
  if (added !== undefined) inputs[added] = added === 'bias' ? [n] : [n, T]
  const parts = [p > 0 ? `second ${p}` : '', added ?? '', strided.length > 0 ? 'strided' : '']
  const name = [`n ${n}, k ${k}, T ${T}`, ...parts.filter((part) => part !== '')].join(', ')
  return {
    operator: 'product',
    name,
    inputs,
    matrices,
    strided,
    result: [n, T],
    scratch,
    values: randomValues(name, { ...inputs, ...matrices }),
    build: (g, call, { inputs: x, panels }) =>
      ops.packedProduct(g, call, {
        main: { panels: needed(panels['w']), x: needed(x['x']) },
        second: p === 0 ? null : { panels: needed(panels['b']), x: needed(x['h']) },
        residual: x['residual'] ?? null,
        bias: x['bias'] ?? null,
      }),
    plain: (values) => ({ y: plainProduct(values, size) }),
    rounding: twoRoundedFactors(k * Math.min(n, T)),
  }
}

function plainProduct(values: Values, { n, k, T, p = 0, added }: ProductSize): Numbers {
  const terms = [multiply(needed(values['w']), needed(values['x']), { n, k, T })]
  if (p > 0) terms.push(multiply(needed(values['b']), needed(values['h']), { n, k: p, T }))
  if (added === 'residual') terms.push(Float64Array.from(needed(values['residual'])))
  const { bias } = values
  if (bias !== undefined)
    terms.push(Float64Array.from({ length: n * T }, (_, i) => at(bias, i % n)))
  return sum(...terms)
}

export const productCases: readonly KernelCase[] = [
  productCase({ n: 1, k: 1, T: 1 }),
  productCase({ n: 7, k: 3, T: 2, p: 1, added: 'bias' }),
  productCase({ n: 8, k: 5, T: 7, added: 'residual' }),
  productCase({ n: 16, k: 32, T: 16, p: 16 }),
  productCase({ n: 17, k: 33, T: 31, p: 5, added: 'residual', strided: ['x', 'h', 'residual'] }),
  productCase({ n: 63, k: 100, T: 97, p: 16, added: 'bias' }),
  productCase({ n: 96, k: 576, T: 112, p: 32 }),
  // More tokens than one thread packs together.
  productCase({ n: 40, k: 70, T: 301, p: 16, added: 'residual' }),
  // More columns than are packed together, for every element type.
  productCase({ n: 33, k: 4500, T: 20, p: 768, added: 'residual' }),
  productCase({ n: 20, k: 2048, T: 33, added: 'bias' }),
  transposedCase({ n: 75, k: 97, T: 20 }),
  transposedCase({ n: 33, k: 2, T: 5 }),
]

/** wᵀ x with the panels that `Kernels.transpose` makes. */
function transposedCase({ n, k, T }: ProductSize): KernelCase {
  const [inputs, matrices] = [{ x: [n, T] }, { w: [k, n], wᵀ: [n, k] }]
  const name = `transposed, n ${n}, k ${k}, T ${T}`
  return {
    operator: 'product',
    name,
    parameters: { transposed: true },
    inputs,
    matrices,
    result: [k, T],
    scratch,
    values: randomValues(name, { ...inputs, w: matrices.w }),
    build: (g, call, { inputs: x, panels }) =>
      ops.packedProduct(g, call, { main: { panels: needed(panels['wᵀ']), x: needed(x['x']) } }),
    plain: (values) => {
      const w = needed(values['w'])
      const turned = Float64Array.from({ length: n * k }, (_, i) =>
        at(w, (i % n) * k + Math.floor(i / n)),
      )
      return { y: multiply(turned, needed(values['x']), { n: k, k: n, T }) }
    },
    rounding: twoRoundedFactors(n * Math.min(k, T)),
  }
}

function outerCase([m, n, T]: readonly [number, number, number], isStrided = false): KernelCase {
  const inputs = { a: [m, T], b: [n, T] }
  const name = `m ${m}, n ${n}, T ${T}${isStrided ? ', strided' : ''}`
  return {
    operator: 'outer',
    name,
    inputs,
    strided: isStrided ? ['a', 'b'] : [],
    result: [m, n],
    scratch,
    values: randomValues(name, inputs),
    build: (g, call, { inputs: { a, b } }) => ops.packedOuter(g, call, [needed(a), needed(b)]),
    plain: (values) => ({ y: outer(needed(values['a']), needed(values['b']), { m, n, T }) }),
    rounding: twoRoundedFactors(T * Math.min(m, n)),
  }
}

export const outerCases: readonly KernelCase[] = [
  outerCase([1, 1, 1]),
  outerCase([16, 16, 5]),
  outerCase([33, 7, 301], true),
  outerCase([100, 48, 64]),
  // More tokens than are packed together, for every element type; more rows too.
  outerCase([40, 16, 2100]),
  outerCase([20, 300, 37]),
]
