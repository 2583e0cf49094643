// All operators under one name, as callers use them: `ops.mulMat(g, a, b)`.
import * as rawOps from './raw-ops.ts'

export const ops = rawOps
