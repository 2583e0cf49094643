// Operators on rows: norms, rotary embedding, gated units, sums over slices.
import { ops, type Tensor } from '../../../app/main/engine/ffi/index.ts'
import type { KernelCase, Operands, Values } from './bench.ts'
import { randomValues } from './linear-cases.ts'
import { needed } from './needed.ts'
import { at, gated, gatedBack, norm, normBack, sum, sumSlices, type Activation } from './plain.ts'
import { rotateHeads, rotateHeadsBack, type RotationOfHeads } from './plain-heads.ts'

const scratch = { tokens: 1, headSize: 16, width: 16 }
const epsilon = 1e-5

interface NormSize {
  readonly shape: readonly number[]
  readonly hasResidual?: boolean
  readonly strided?: readonly string[]
  readonly inPlace?: string
}

function normCase(operator: 'norm' | 'norm_back', size: NormSize): KernelCase {
  const { shape, hasResidual = false, strided = [], inPlace } = size
  const inputs: Record<string, readonly number[]> = { x: shape, weight: [shape[0] ?? 0] }
  if (operator === 'norm_back') inputs['dy'] = shape
  if (hasResidual) inputs['residual'] = shape
  const parts = [hasResidual ? 'residual' : '', ...strided, inPlace === undefined ? '' : 'in place']
  const name = [`[${shape.join(', ')}]`, ...parts.filter((part) => part !== '')].join(', ')
  return {
    operator,
    name,
    parameters: { epsilon },
    inputs,
    strided,
    result: shape,
    ...(inPlace === undefined ? {} : { inPlace }),
    scratch,
    values: randomValues(name, inputs),
    build: (g, call, { inputs: at_ }) => {
      const { x, weight, dy, residual = null } = at_
      const params = { x: needed(x), weight: needed(weight), epsilon, residual }
      if (operator === 'norm') return ops.kernelNorm(g, call, params)
      return ops.kernelNormBack(g, call, { ...params, dy: needed(dy) })
    },
    plain: (values) => {
      const [x, weight] = [needed(values['x']), needed(values['weight'])]
      const y =
        operator === 'norm'
          ? norm(x, weight, epsilon)
          : normBack(needed(values['dy']), { x, weight, epsilon })
      return { y: values['residual'] === undefined ? y : sum(y, values['residual']) }
    },
    rounding: null,
  }
}

export const normCases = [
  normCase('norm', { shape: [1, 1] }),
  normCase('norm', { shape: [7, 3], hasResidual: true }),
  normCase('norm', { shape: [33, 65], strided: ['x', 'residual'], hasResidual: true }),
  normCase('norm', { shape: [576, 10], inPlace: 'x' }),
  normCase('norm', { shape: [20, 3, 5] }),
]

export const normBackCases = [
  normCase('norm_back', { shape: [2, 1] }),
  normCase('norm_back', { shape: [7, 3] }),
  normCase('norm_back', { shape: [33, 65], strided: ['x', 'dy', 'residual'], hasResidual: true }),
  normCase('norm_back', { shape: [576, 10], hasResidual: true, inPlace: 'residual' }),
  normCase('norm_back', { shape: [20, 3, 5], inPlace: 'dy' }),
]

interface RotateSize {
  readonly D: number
  readonly H: number
  readonly K: number
  readonly T: number
  readonly style: 'pairs' | 'halves'
  readonly hasNorms?: boolean
  readonly inverse?: boolean
  readonly inPlace?: string
}

/** Cosines, then sines of random angles, [D, T]. */
function angleTable(label: string, { D, T }: RotateSize): Float32Array {
  const angles = needed(randomValues(label, { angles: [D / 2, T] })['angles'])
  return Float32Array.from({ length: D * T }, (_, i) => {
    const angle = 3 * at(angles, (Math.floor(i / D) * D) / 2 + (i % (D / 2)))
    return i % D < D / 2 ? Math.cos(angle) : Math.sin(angle)
  })
}

function rotateCase(size: RotateSize): KernelCase {
  const { D, H, K, T, style, hasNorms = false, inverse = false, inPlace } = size
  const [shape, grad] = [
    [D, H + 2 * K, T],
    [D, 3 * H, T],
  ]
  const inputs: Record<string, readonly number[]> = { table: [D, T] }
  inputs[inverse ? 'grad' : 'x'] = inverse ? grad : shape
  if (hasNorms) Object.assign(inputs, { q: [D], k: [D], ...(inverse ? { input: shape } : {}) })
  const parts = [style, hasNorms ? 'norms' : '', inverse ? 'inverse' : '', inPlace ?? '']
  const name = [`D ${D}, H ${H}, K ${K}, T ${T}`, ...parts.filter((part) => part !== '')].join(', ')
  return {
    operator: 'rotate',
    name,
    parameters: { H, K, style, hasNorms, inverse, epsilon },
    inputs,
    result: shape,
    ...(inPlace === undefined ? {} : { inPlace }),
    scratch,
    values: { ...randomValues(name, inputs), table: angleTable(name, size) },
    build: (g, call, operands) => {
      const params = rotateParams(size, operands)
      if (!inverse) return ops.rotateHeads(g, call, { ...params, x: needed(operands.inputs['x']) })
      const { grad: given, input = null } = operands.inputs
      return ops.rotateHeadsBack(g, call, { ...params, grad: needed(given), input })
    },
    plain: (values) => ({ y: plainRotation(values, size) }),
    rounding: null,
  }
}

function rotateParams(size: RotateSize, { inputs }: Operands) {
  const { H, K, style } = size
  const norms = (q: Tensor, k: Tensor) => ({ q, k, epsilon })
  const headNorms = size.hasNorms ? norms(needed(inputs['q']), needed(inputs['k'])) : null
  return { heads: H, keyValueHeads: K, style, table: needed(inputs['table']), headNorms }
}

function plainRotation(values: Values, size: RotateSize): Float64Array {
  const { D, H, K, T, style } = size
  const { q, k, table, input = [] } = values
  const norms = size.hasNorms ? { q: needed(q), k: needed(k), epsilon } : null
  const of: RotationOfHeads = { D, H, K, T, style, norms }
  if (size.inverse !== true) return rotateHeads(needed(values['x']), needed(table), of)
  return rotateHeadsBack(needed(values['grad']), { table: needed(table), input }, of)
}

const styles = ['pairs', 'halves'] as const

export const rotateCases: readonly KernelCase[] = styles.flatMap((style) => [
  rotateCase({ D: 2, H: 1, K: 1, T: 1, style }),
  rotateCase({ D: 20, H: 6, K: 2, T: 33, style, inPlace: 'x' }),
  rotateCase({ D: 64, H: 9, K: 3, T: 7, style, hasNorms: true }),
  rotateCase({ D: 1024, H: 2, K: 1, T: 2, style, hasNorms: true, inPlace: 'x' }),
  rotateCase({ D: 2, H: 1, K: 1, T: 1, style, inverse: true }),
  rotateCase({ D: 20, H: 6, K: 2, T: 33, style, inverse: true }),
  rotateCase({ D: 80, H: 4, K: 4, T: 5, style, inverse: true, hasNorms: true }),
  rotateCase({ D: 64, H: 9, K: 3, T: 7, style, inverse: true, hasNorms: true }),
])

interface GatedSize {
  readonly F: number
  readonly T: number
  readonly activation: Activation
  readonly scale?: number
}

function gatedCase(operator: 'gated' | 'gated_back', size: GatedSize): KernelCase {
  const { F, T, activation, scale = 5 } = size
  const inputs: Record<string, readonly number[]> = { x: [2 * F, T] }
  if (operator === 'gated_back') inputs['dy'] = [F, T]
  const name = `F ${F}, T ${T}, ${activation} up to ${scale}`
  const values = randomValues(name, inputs)
  return {
    operator,
    name,
    parameters: { activation },
    inputs,
    strided: T > 1 ? Object.keys(inputs) : [],
    result: operator === 'gated' ? [F, T] : [2 * F, T],
    scratch,
    values: { ...values, x: needed(values['x']).map((value) => scale * value) },
    build: (g, call, { inputs: { x, dy } }) =>
      operator === 'gated'
        ? ops.gated(g, call, { x: needed(x), activation })
        : ops.gatedBack(g, call, { x: needed(x), dy: needed(dy), activation }),
    plain: ({ x, dy }) => ({
      y:
        operator === 'gated'
          ? gated(needed(x), F, activation)
          : gatedBack(needed(dy), { x: needed(x), F, kind: activation }),
    }),
    rounding: null,
  }
}

const gatedSizes: readonly GatedSize[] = (['silu', 'gelu'] as const).flatMap((activation) => [
  { F: 1, T: 1, activation },
  { F: 7, T: 3, activation },
  { F: 100, T: 65, activation },
  // Where e⁻ˣ leaves the range of f32.
  { F: 48, T: 10, activation, scale: 200 },
])

export const gatedCases = gatedSizes.map((size) => gatedCase('gated', size))
export const gatedBackCases = gatedSizes.map((size) => gatedCase('gated_back', size))

export const sumSlicesCases: readonly KernelCase[] = [
  [1, 1, 1],
  [5, 3, 16],
  [33, 65, 16],
].map(([n = 0, R = 0, slices = 0]) => {
  const inputs = { x: [n, R, slices] }
  const name = `n ${n}, R ${R}, ${slices} slices`
  return {
    operator: 'sum_slices',
    name,
    inputs,
    result: [n, R],
    scratch,
    values: randomValues(name, inputs),
    build: (g, call, { inputs: { x } }) => ops.sumSlices(g, call, needed(x)),
    plain: ({ x }) => ({ y: sumSlices(needed(x), slices) }),
    rounding: null,
  }
})
