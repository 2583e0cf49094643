// Text to ids and back for one model. Everything the product tokenises goes through here.

import { LlamaVocabularyType, type LlamaModel, type Token } from 'node-llama-cpp'

export interface Vocabulary {
  readonly size: number
  readonly endIds: readonly number[]
  /** The end of a turn that the file names; null where it names none. */
  readonly namedEndId: number | null
  /** The id every prompt must begin with, or null. */
  readonly firstId: number | null
  /** Variables a chat template may print. */
  readonly named: { readonly bos_token: string; readonly eos_token: string }
  /** Strings that stand for one control token, longest first. */
  readonly controls: readonly string[]
  isEnd(id: number): boolean
  plainIds(text: string): number[]
  /** The one id of a control string; throws when it is not one. */
  controlId(text: string): number
  tokenText(id: number): string
  textStream(): TextStream
}

/** Gives text out only once its bytes are complete, so no character is ever broken in two. */
export interface TextStream {
  push(id: number): string
}

/** GGUF token types that llama.cpp recognises only when special tokens are asked for. */
const controlTypes: ReadonlySet<number> = new Set([2, 3])

export function createVocabulary(model: LlamaModel): Vocabulary {
  const tokens = model.fileInfo.metadata.tokenizer.ggml.tokens
  const types = model.fileInfo.metadata.tokenizer.ggml.token_type
  const ends: number[] = []
  const controls: string[] = []
  tokens.forEach((text, id) => {
    if (model.isEogToken(id as Token)) ends.push(id)
    if (controlTypes.has(Number(types?.[id])) && text !== '') controls.push(text)
  })
  controls.sort((a, b) => b.length - a.length)
  const endSet = new Set(ends)
  return {
    size: tokens.length,
    endIds: ends,
    namedEndId: model.tokens.eot ?? model.tokens.eos,
    firstId: model.tokens.shouldPrependBosToken ? model.tokens.bos : null,
    named: { bos_token: model.tokens.bosString ?? '', eos_token: model.tokens.eosString ?? '' },
    controls,
    isEnd: (id) => endSet.has(id),
    plainIds: (text) => model.tokenize(text, false),
    controlId(text) {
      const [id, ...rest] = model.tokenize(text, true)
      if (id === undefined || rest.length > 0) throw new Error(`"${text}" is not one token`)
      return id
    },
    tokenText: (id) => model.detokenize([id as Token], true),
    textStream: () => createTextStream(model),
  }
}

/** A character takes at most 4 bytes, so after 4 ids without a new one the bytes belong to none. */
const idsPerCharacter = 4
/** Sentence-piece models drop a leading space unless they see what came before. */
const contextIds = 3

function createTextStream(model: LlamaModel): TextStream {
  const needsContext = model.vocabularyType === LlamaVocabularyType.spm
  /** Ids that end inside a character, what was given of their text, and how long nothing more came. */
  let pending: Token[] = []
  let given = 0
  let stalled = 0
  let before: Token[] = []
  return {
    push(id) {
      pending.push(id as Token)
      const text = model.detokenize(pending, false, needsContext ? before : [])
      const whole = text.replace(/\uFFFD+$/, '')
      stalled = whole.length > given ? 1 : stalled + 1
      if (whole.length < text.length && stalled <= idsPerCharacter) {
        const next = whole.slice(given)
        given = whole.length
        return next
      }
      const rest = text.slice(given)
      before = [...before, ...pending].slice(-contextIds)
      pending = []
      given = 0
      stalled = 0
      return rest
    },
  }
}

export function textOfIds(vocabulary: Vocabulary, ids: readonly number[]): string {
  const stream = vocabulary.textStream()
  return ids.map((id) => stream.push(id)).join('')
}
