// A user whose complaints a model words: an OpenAI-compatible endpoint or a second GGUF. The persona's rule still
// decides whether there is a reason to complain; the model only says so.
import { z } from 'zod'
import { openPolicy } from '../app/main/policy/index.ts'
import { AppError } from '../app/shared/errors.ts'
import type { Displeasure, Speaker } from './user.ts'

interface Writing {
  readonly system: string
  readonly user: string
  readonly seed: number
}

/** Writes one short text. */
export interface UserModel extends AsyncDisposable {
  /** For the key of a row and the report. */
  readonly name: string
  write(writing: Writing): Promise<string>
}

/** One trial's use of a user model. */
export interface Speaking {
  readonly speaker: Speaker
  /** Messages that the model wrote, and those where it did not say the wish and a template stood in. */
  spoken(): { readonly written: number; readonly templates: number }
}

const temperature = 0.8
const maxTokens = 60
const endpointMs = 60_000
/** Tries until a message says what the user wants. */
const tries = 3

/** `source` is an address (`http://127.0.0.1:8080/v1`, `…/v1#model`) or a GGUF file. */
export function openUserModel(source: string): Promise<UserModel> {
  return /^https?:\/\//.test(source) ? Promise.resolve(endpoint(source)) : openFile(source)
}

const answerSchema = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string() }) })).min(1),
})

function endpoint(source: string): UserModel {
  const address = new URL(source)
  const model = decodeURIComponent(address.hash.slice(1)) || 'default'
  address.hash = ''
  const url = `${address.href.replace(/\/$/, '')}/chat/completions`
  const key = process.env['HONE_USER_MODEL_KEY']
  return {
    name: `${address.host} ${model}`,
    async write({ system, user, seed }) {
      const messages = [
        { role: 'system', content: system },
        { role: 'user', content: user },
      ]
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        },
        body: JSON.stringify({ model, messages, temperature, seed, max_tokens: maxTokens }),
        signal: AbortSignal.timeout(endpointMs),
      }).catch((cause: unknown) => {
        throw new AppError('network', `the user model at ${address.host} gave no answer`, { cause })
      })
      if (!response.ok) {
        const said = (await response.text()).slice(0, 200)
        throw new AppError('network', `the user model answered ${response.status}: ${said}`)
      }
      const answer = answerSchema.safeParse(await response.json())
      if (!answer.success) {
        throw new AppError('invalid-input', 'the user model’s answer is no chat completion')
      }
      return answer.data.choices[0]?.message.content ?? ''
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

async function openFile(path: string): Promise<UserModel> {
  const policy = await openPolicy({ modelPath: path, device: 'cpu', threads: 1, contextSize: 2048 })
  return {
    name: path.split(/[\\/]/).at(-1) ?? path,
    async write({ system, user, seed }) {
      const messages = [
        { role: 'system' as const, text: system },
        { role: 'user' as const, text: user },
      ]
      const { text } = await policy.generate({
        lane: 'evaluate',
        promptIds: policy.render(messages, { reserve: maxTokens }).ids,
        adapter: { version: 0, path: null },
        temperature,
        ...{ topP: 1, topK: 0, minP: 0 },
        seed,
        maxTokens,
      })
      return text
    },
    [Symbol.asyncDispose]: () => policy[Symbol.asyncDispose](),
  }
}

const system =
  'You play a person who talks with an assistant. You write one short message in everyday words. You never explain that you play somebody.'

const shownCharacters = 600

function prompt({ persona, request, reply }: Displeasure): string {
  return [
    `You asked:\n${request.slice(0, shownCharacters)}`,
    `The assistant answered:\n${reply.slice(0, shownCharacters)}`,
    `You are not happy with the form of this answer. What you want is: ${persona.hint}`,
    'Write the message, one or two sentences, in which you tell the assistant so. Only the message.',
  ].join('\n\n')
}

/** A speaker that asks the model, and says the template where the model's words do not say the wish. */
export function createSpeaking(model: UserModel, firstSeed: number): Speaking {
  let written = 0
  let templates = 0
  let seed = firstSeed
  return {
    async speaker(about) {
      for (let attempt = 0; attempt < tries; attempt++) {
        const text = tidied(await model.write({ system, user: prompt(about), seed: seed++ }))
        if (text === '' || !about.persona.expresses(text)) continue
        written++
        return text
      }
      templates++
      return about.template
    },
    spoken: () => ({ written, templates }),
  }
}

/** The first two sentences, without quotation marks around them and without a role's name. */
export function tidied(text: string): string {
  const plain = text
    .replace(/^\s*(?:user|me|you)\s*:\s*/i, '')
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/^["“](.*)["”]$/, '$1')
  const sentences = plain.match(/[^.!?]+[.!?]+["”]?|[^.!?]+$/g) ?? []
  return sentences.slice(0, 2).join('').trim()
}
