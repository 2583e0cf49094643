import { ORPCError } from '@orpc/client'
import { describe, expect, it } from 'vitest'
import { AppError, errorCodes } from '../../shared/errors.ts'
import { en } from '../ui/messages/en.ts'
import { zh } from '../ui/messages/zh.ts'
import { errorText, toClientError } from './errors.ts'

describe('errors from the host', () => {
  it('keeps every code of the closed list, with the fact as the message', () => {
    for (const code of errorCodes) {
      const error = toClientError(new ORPCError(code, { status: 500, message: 'the fact' }))
      expect([error.code, error.message]).toEqual([code, 'the fact'])
    }
  })

  it('finds the code in the data when the wire has its own', () => {
    const thrown = new ORPCError('INTERNAL_SERVER_ERROR', { data: { code: 'disk-full' } })
    expect(toClientError(thrown).code).toBe('disk-full')
  })

  it('translates codes that never reached a handler, and calls the rest internal', () => {
    expect(toClientError(new ORPCError('BAD_REQUEST')).code).toBe('invalid-input')
    expect(toClientError(new ORPCError('TEAPOT', { status: 418 })).code).toBe('internal')
    expect(toClientError('odd').message).toBe('odd')
  })
})

describe('sentences', () => {
  it('has one for every code in both languages', () => {
    for (const messages of [en, zh]) {
      const sentences = errorCodes.map(
        (code) => errorText(new AppError(code, ''), messages).sentence,
      )
      expect(sentences.every((sentence) => sentence.length > 1)).toBe(true)
      expect(new Set(sentences).size).toBe(errorCodes.length)
    }
  })

  it('shows the fact beside the sentence, but never twice', () => {
    expect(errorText(new AppError('disk-full', '0 bytes free'), en).fact).toBe('0 bytes free')
    expect(errorText(new AppError('refused', en.errors.refused), en).fact).toBeNull()
    expect(errorText(new AppError('refused', '  '), en).fact).toBeNull()
  })

  it('has its own words for a lost connection', () => {
    const lost = new AppError('unavailable', '', { data: { connection: 'lost' } })
    expect(errorText(lost, en)).toEqual({ sentence: en.connection.callFailed, fact: null })
  })
})
