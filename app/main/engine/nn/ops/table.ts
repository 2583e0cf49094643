// The op table: every operator of the architecture with its shape rule, forward and hand-written gradient.
// Tests check each row against finite differences. (linear.ts stands apart: a group of layers and its adapter.)
import { attention } from './attention.ts'
import { rmsNorm } from './rms-norm.ts'
import { rope } from './rope.ts'
import { gatedUnit } from './gated-unit.ts'

export const opTable = { attention, rmsNorm, rope, gatedUnit } as const
