// Whether the model judge may vote: a bundled self-test per model, run once in idle time and remembered.
// Below its limit the judge abstains and the rules decide alone (DESIGN 5.3).
import { selfTestSchema, type SelfTest } from '../../shared/contract/prm.ts'
import type { LearningDeps } from './ports.ts'

export interface JudgeSelfTest {
  mode(): 'off' | 'score' | 'generate'
  runWhenIdle(): void
  sentence(): { readonly sentence: string; readonly abstains: boolean }
}

export function createSelfTest(deps: LearningDeps): JudgeSelfTest {
  let running: Promise<void> | null = null
  let failure: string | null = null

  function key(): string | null {
    const { mode } = deps.store.settings().judge
    return mode === 'off' ? null : `self-test:${deps.policy().info().modelId}:${mode}`
  }

  function result(): SelfTest | null {
    const at = key()
    if (at === null) return null
    const parsed = selfTestSchema.safeParse(deps.store.value(at))
    return parsed.success ? parsed.data : null
  }

  async function run(mode: 'score' | 'generate', at: string): Promise<void> {
    const prm = await deps.prm()
    deps.store.setValue(at, await prm.selfTest({ mode }))
    deps.publish({ kind: 'system-changed' })
  }

  return {
    mode() {
      return result()?.passed === true ? deps.store.settings().judge.mode : 'off'
    },
    runWhenIdle() {
      const at = key()
      const { mode } = deps.store.settings().judge
      if (at === null || mode === 'off' || running !== null || failure !== null) return
      if (result() !== null) return
      running = run(mode, at)
        .catch((thrown: unknown) => {
          failure = thrown instanceof Error ? thrown.message : String(thrown)
        })
        .finally(() => {
          running = null
        })
    },
    sentence() {
      if (deps.store.settings().judge.mode === 'off') {
        return { sentence: 'The rules judge alone; the model judge is off.', abstains: true }
      }
      const tested = result()
      if (tested !== null) {
        const score = tested.macroF1.toFixed(2)
        return tested.passed
          ? { sentence: `The model judges with the rules (self-test ${score}).`, abstains: false }
          : {
              sentence: `The model is not sure enough to judge (self-test ${score}, 0.60 needed); the rules judge alone.`,
              abstains: true,
            }
      }
      const sentence =
        failure === null
          ? 'The rules judge alone until the model has taken its self-test in a quiet moment.'
          : `The rules judge alone: the self-test failed (${failure}).`
      return { sentence, abstains: true }
    },
  }
}
