import type { GenerateTextRequest, JudgePort, ScoreRequest } from '../../app/main/prm/index.ts'

export interface FakeJudge {
  readonly port: JudgePort
  readonly scored: ScoreRequest[]
  readonly generated: GenerateTextRequest[]
}

export interface FakeJudgeAnswers {
  readonly score?: (request: ScoreRequest, call: number) => number[] | Promise<number[]>
  readonly generate?: (request: GenerateTextRequest, call: number) => string | Promise<string>
}

/** A judge port that answers by plain functions and remembers what it was asked. */
export function fakeJudge({ score, generate }: FakeJudgeAnswers): FakeJudge {
  const scored: ScoreRequest[] = []
  const generated: GenerateTextRequest[] = []
  return {
    scored,
    generated,
    port: {
      score: async (request) => {
        scored.push(request)
        if (score === undefined) throw new Error('this fake judge does not score')
        return { logProbs: await score(request, scored.length) }
      },
      generate: async (request) => {
        generated.push(request)
        if (generate === undefined) throw new Error('this fake judge does not generate')
        return { text: await generate(request, generated.length) }
      },
    },
  }
}
