// Finds what must never be learned or shown to a judge: keys, tokens, cards, private keys, e-mail addresses, phones.
export type SecretKind =
  | 'private key'
  | 'key or token'
  | 'password'
  | 'e-mail address'
  | 'card number'
  | 'phone number'
  | 'identity number'

interface SecretPattern {
  readonly kind: SecretKind
  readonly pattern: RegExp
  readonly accepts?: (found: string) => boolean
}

const patterns: readonly SecretPattern[] = [
  {
    kind: 'private key',
    pattern:
      /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:[\s\S]{0,8000}?-----END [A-Z ]{0,30}PRIVATE KEY-----)?/gu,
  },
  {
    kind: 'key or token',
    pattern:
      /\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,200}|\bgh[pousr]_[A-Za-z0-9]{20,200}|\bgithub_pat_\w{20,200}|\bglpat-[\w-]{16,100}|\bA(?:KI|SI)A[A-Z0-9]{16}\b|\bxox[abprs]-[\w-]{10,200}|\bAIza[\w-]{30,60}|\bhf_[A-Za-z0-9]{20,100}|\bnpm_[A-Za-z0-9]{20,100}|\beyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{4,2000}/gu,
  },
  {
    kind: 'key or token',
    pattern: /\b[A-Za-z0-9+/_-]{32,512}={0,2}/gu,
    accepts: (found) =>
      /\d/u.test(found) && /[A-Za-z]/u.test(found) && (found.match(/\d/gu)?.length ?? 0) >= 4,
  },
  {
    kind: 'password',
    pattern:
      /(?:\b(?:passwords?|passwd|pwd|passphrase|api[ _-]?key|secret|token|pin)\b(?: is|:|=|：)+ *|(?:密码|口令|密钥)(?:是|为|:|=|：)+ *)["'“]?[^\s"'”，。,]{4,120}/giu,
  },
  { kind: 'e-mail address', pattern: /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}/gu },
  { kind: 'identity number', pattern: /(?<!\d)\d{17}[\dXx](?!\d)|\b\d{3}-\d{2}-\d{4}\b/gu },
  {
    kind: 'card number',
    pattern: /(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)/gu,
    accepts: (found) => luhn(found.replace(/\D/gu, '')),
  },
  {
    kind: 'phone number',
    pattern:
      /(?<![\d\w])(?:\+\d{1,3}[ -]?(?:\(\d{1,4}\)[ -]?)?\d{2,4}(?:[ -]?\d{2,4}){1,4}|\(?\d{3}\)?[ -]\d{3}[ -]\d{4}|1[3-9]\d(?:[ -]?\d{4}){2}|0\d{2,3}-\d{7,8})(?!\d)/gu,
  },
]

function luhn(digits: string): boolean {
  let sum = 0
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits[digits.length - 1 - index])
    const doubled = index % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

export function secretKinds(text: string): SecretKind[] {
  const kinds = new Set<SecretKind>()
  for (const { kind, pattern, accepts } of patterns) {
    for (const [found] of text.matchAll(pattern)) {
      if (accepts?.(found) ?? true) kinds.add(kind)
    }
  }
  return [...kinds]
}

export function maskSecrets(text: string): string {
  let masked = text
  for (const { kind, pattern, accepts } of patterns) {
    masked = masked.replace(pattern, (found: string) =>
      (accepts?.(found) ?? true) ? `[${kind}]` : found,
    )
  }
  return masked
}
