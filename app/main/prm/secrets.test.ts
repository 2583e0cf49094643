import fc from 'fast-check'
import { expect, test } from 'vitest'
import { maskSecrets, secretKinds } from './secrets.ts'

test.each([
  ['sk-abcdefghijklmnop1234', 'key or token'],
  ['ghp_abcdefghijklmnopqrstuvwxyz012345', 'key or token'],
  ['AKIAABCDEFGHIJKLMNOP', 'key or token'],
  ['0123456789abcdef0123456789abcdef', 'key or token'],
  ['-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----', 'private key'],
  ['my password is hunter22', 'password'],
  ['密码是hunter22', 'password'],
  ['mia@example.org', 'e-mail address'],
  ['4111 1111 1111 1111', 'card number'],
  ['+49 170 1234567', 'phone number'],
  ['13812345678', 'phone number'],
  ['(555) 123-4567', 'phone number'],
  ['11010519491231002X', 'identity number'],
] as const)('%j is a %s and is masked', (secret, kind) => {
  const text = `use ${secret} here`
  expect(secretKinds(text)).toContain(kind)
  expect(maskSecrets(text)).not.toContain(secret)
})

test.each([
  'At most 40 words.',
  'Use 2 decimals and 100 examples.',
  'In 1998 and 2024-2025.',
  'antidisestablishmentarianism-and-floccinaucinihilipilification',
  '4111 1111 1111 1112',
  '不要超过一百字',
])('%j holds no secret', (text) => {
  expect(secretKinds(text)).toEqual([])
  expect(maskSecrets(text)).toBe(text)
})

test('what is masked holds no secret any more', () => {
  const secret = fc.constantFrom(
    'sk-abcdefghijklmnop1234',
    'mia@example.org',
    '13812345678',
    ' ',
    'a',
    '-',
    '1',
  )
  fc.assert(
    fc.property(fc.array(secret, { maxLength: 8 }), (parts) => {
      const masked = maskSecrets(parts.join(''))
      expect(secretKinds(masked)).toEqual([])
    }),
  )
})
