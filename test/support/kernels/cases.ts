// What every operator is tested with.
import type { OperatorName } from '../../../app/main/engine/ffi/index.ts'
import { attentionBackCases, attentionCases } from './attention-cases.ts'
import type { KernelCase } from './bench.ts'
import { headBackCases, headKlCases, headStatsCases } from './head-cases.ts'
import { outerCases, productCases } from './linear-cases.ts'
import {
  gatedBackCases,
  gatedCases,
  normBackCases,
  normCases,
  rotateCases,
  sumSlicesCases,
} from './row-cases.ts'

export const kernelCases: Readonly<Record<OperatorName, readonly KernelCase[]>> = {
  product: productCases,
  outer: outerCases,
  norm: normCases,
  norm_back: normBackCases,
  rotate: rotateCases,
  gated: gatedCases,
  gated_back: gatedBackCases,
  attention: attentionCases,
  attention_back: attentionBackCases,
  head_stats: headStatsCases,
  head_back: headBackCases,
  head_kl: headKlCases,
  sum_slices: sumSlicesCases,
}
