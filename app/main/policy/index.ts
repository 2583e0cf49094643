// The policy's door.

export { openPolicy } from './policy.ts'
export type {
  AdapterFile,
  Generation,
  GenerateRequest,
  Lane,
  NextTokenScores,
  Policy,
  PolicyInfo,
  PolicyOptions,
  PromptMessage,
  RenderedPrompt,
  SampledToken,
} from './types.ts'
