// All operators under one name, as callers use them: `ops.mulMat(g, a, b)`.
import * as kernelOps from './kernel-ops.ts'
import * as portableOps from './portable-ops.ts'
import * as rawOps from './raw-ops.ts'

export const ops = { ...rawOps, ...portableOps, ...kernelOps }
