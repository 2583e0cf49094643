import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { brief } from './personas/brief.ts'
import { createSpeaking, openUserModel, tidied, type UserModel } from './user-model.ts'

const displeasure = {
  persona: brief,
  request: 'Explain osmosis.',
  reply: 'A long story.',
  template: 'Too long. Please answer in at most 40 words.',
}

function scripted(texts: readonly string[]): UserModel {
  let next = 0
  return {
    name: 'scripted',
    write: async () => texts[next++] ?? '',
    [Symbol.asyncDispose]: async () => undefined,
  }
}

test.each([
  ['User: "Please, 40 words."', 'Please, 40 words.'],
  ['Too long! Use 40 words. And then more. And more.', 'Too long! Use 40 words.'],
  ['  one\n line without an end ', 'one line without an end'],
  ['', ''],
])('%j is said as %j', (text, said) => {
  expect(tidied(text)).toBe(said)
})

test('words that say the wish are said, and counted', async () => {
  const speaking = createSpeaking(scripted(['Hm.', 'Could it be 40 words?']), 1)
  expect(await speaking.speaker(displeasure)).toBe('Could it be 40 words?')
  expect(speaking.spoken()).toEqual({ written: 1, templates: 0 })
})

test('a template stands in where the model never says the wish', async () => {
  const speaking = createSpeaking(scripted(['Hm.', 'I see.', 'Well.', 'At most 40 words.']), 1)
  expect(await speaking.speaker(displeasure)).toBe(displeasure.template)
  expect(speaking.spoken()).toEqual({ written: 0, templates: 1 })
})

async function openEndpoint(answer: { readonly status: number; readonly body: string }) {
  const asked: { path: string; body: unknown }[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk: Buffer) => (text += chunk.toString()))
    request.on('end', () => {
      asked.push({ path: request.url ?? '', body: JSON.parse(text) })
      response.writeHead(answer.status, { 'content-type': 'application/json' })
      response.end(answer.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    asked,
    url: `http://127.0.0.1:${port}/v1#some-model`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const writing = { system: 'Be a user.', user: 'Complain.', seed: 3 }

test('an endpoint is asked for a chat completion of the named model', async () => {
  const body = JSON.stringify({ choices: [{ message: { content: 'At most 40 words.' } }] })
  await using endpoint = await openEndpoint({ status: 200, body })
  await using model = await openUserModel(endpoint.url)
  expect(await model.write(writing)).toBe('At most 40 words.')
  expect(endpoint.asked[0]?.path).toBe('/v1/chat/completions')
  expect(endpoint.asked[0]?.body).toMatchObject({
    model: 'some-model',
    seed: 3,
    messages: [{ role: 'system' }, { role: 'user', content: 'Complain.' }],
  })
})

test.each([
  [{ status: 429, body: '{"error":"slow down"}' }, 'answered 429: {"error":"slow down"}'],
  [{ status: 200, body: '{"choices":[]}' }, 'no chat completion'],
])('an endpoint that answers %j ends the run with the reason', async (answer, reason) => {
  await using endpoint = await openEndpoint(answer)
  await using model = await openUserModel(endpoint.url)
  await expect(model.write(writing)).rejects.toThrow(reason)
})
