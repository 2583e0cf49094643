// From a candidate that passed the gate to the served version: prepare, probe, activate (DESIGN 9).
import type { Exchange } from '../../shared/domain/training.ts'
import type { GateCheck } from '../../shared/domain/version.ts'
import type { AdapterFile } from '../policy/types.ts'
import type { LearningDeps } from './ports.ts'
import { listedKl } from './statistics.ts'

/** Served must be nearer to new than to old by this KL ratio. */
const ratioLimit = 0.2

/** A change under this many times the server's own noise cannot be told from it. */
const noiseFactor = 5

function listed(logProbs: Float32Array, ids: readonly number[]): number[] {
  return ids.map((id) => logProbs[id] ?? Number.NEGATIVE_INFINITY)
}

/**
 * Compares what the prepared context serves with what the trainer computed, at the position where the two
 * versions differ most. `failed` means that the served weights are not the trained ones.
 */
export async function probeSwap(
  deps: LearningDeps,
  versions: { readonly old: AdapterFile; readonly next: AdapterFile },
  exchanges: readonly Exchange[],
): Promise<GateCheck> {
  const trainer = await deps.trainer()
  const probe = await trainer.probe({
    oldPath: versions.old.path,
    newPath: versions.next.path,
    exchanges: [...exchanges],
  })
  const policy = deps.policy()
  const ask = (adapter: AdapterFile) =>
    policy.nextTokenScores({ lane: 'evaluate', promptIds: probe.prefixIds, adapter })
  const served = listed((await ask(versions.next)).logProbs, probe.tokenIds)
  const servedOld = listed((await ask(versions.old)).logProbs, probe.tokenIds)
  const noise = Math.max(1e-6, listedKl(probe.oldLogProbs, servedOld))
  const toNew = listedKl(probe.newLogProbs, served)
  const toOld = listedKl(probe.oldLogProbs, served)
  const ratio = toNew / Math.max(1e-9, toOld)
  const numbers = `difference ${probe.kl.toPrecision(2)} nat, noise ${noise.toPrecision(2)}, ratio ${ratio.toPrecision(2)}`
  if (probe.kl < noiseFactor * noise) {
    const sentence = `The change is too small to verify on the served model (${numbers}).`
    return { name: 'probe', verdict: 'not-tested', sentence, value: ratio, limit: ratioLimit }
  }
  const isServed = ratio < ratioLimit
  return {
    name: 'probe',
    verdict: isServed ? 'passed' : 'failed',
    sentence: isServed
      ? `The served weights are the trained ones (${numbers}).`
      : `The served model does not behave like the trained one (${numbers}); the swap was undone.`,
    value: ratio,
    limit: ratioLimit,
  }
}

/** Prepares the version beside the running replies, probes it, and only then lets new replies use it. */
export async function swapTo(
  deps: LearningDeps,
  next: AdapterFile,
  exchanges: readonly Exchange[],
): Promise<GateCheck> {
  const policy = deps.policy()
  const old = policy.active()
  await policy.prepare(next)
  const check = await probeSwap(deps, { old, next }, exchanges)
  if (check.verdict === 'failed') {
    await policy.release(next.version)
    return check
  }
  await policy.activate(next)
  return check
}
