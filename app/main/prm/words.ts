// Counting and Markdown recognition behind the checks: words in English and Chinese, lists and bold outside code.

/** Fenced blocks and code spans, emptied of their contents. */
function withoutCode(text: string): string {
  return text
    .replace(/^ {0,3}(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:^ {0,3}\1[^\n]*$|$(?![\s\S]))/gmu, '')
    .replace(/`[^`\n]{1,2000}`/gu, '')
}

const word =
  /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|(?:(?![\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])[\p{L}\p{N}\p{M}])+(?:['’.,_-](?:(?![\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])[\p{L}\p{N}\p{M}])+)*/gu

/** Each Chinese character is a word; "well-known", "don't" and "3.14" are one each; list numbers do not count. */
export function countWords(text: string): number {
  const prose = text.replace(/^[ \t]{0,12}\d{1,3}[.)][ \t]/gmu, '')
  return prose.matchAll(word).reduce((count) => count + 1, 0)
}

export function hasList(text: string): boolean {
  return withoutCode(text)
    .split('\n')
    .some((line) => listItem.test(line) && !rule.test(line))
}
const listItem =
  /^(?:[ \t]{0,12}|[ \t]{0,3}> ?)(?:[-*+][ \t]+\S|[•‣◦▪●·–][ \t]*\S|\(?\d{1,3}[.)）][ \t]+\S|\d{1,3}[、．]\s*\S|\(?[a-zA-Z]\)[ \t]+\S|[（(][\d一二三四五六七八九十]{1,3}[)）]|[一二三四五六七八九十]{1,3}、)/u
const rule = /^[ \t]*(?:[-*_][ \t]*){3,}$/u

export function hasBold(text: string): boolean {
  return bold.test(withoutCode(text))
}
const bold =
  /\*\*(?=[^\s*])[^\n]{0,299}?[^\s*]\*{2,3}|\*\*[^\s*]\*\*|(?<![\p{L}\p{N}])__(?=[^\s_])[^\n]{0,299}?[^\s]__(?![\p{L}\p{N}])|<(?:b|strong)>/iu

/** Small numbers in figures or words, English and Chinese; null when the text is none. */
export function parseNumber(text: string): number | null {
  const plain = text
    .trim()
    .toLowerCase()
    .replace(/[０-９]/gu, (digit) => digit.normalize('NFKC'))
  if (/^\d{1,6}$/u.test(plain)) return Number(plain)
  return englishNumber(plain) ?? chineseNumber(plain)
}

const units =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  )
const tens = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')

function englishNumber(text: string): number | null {
  let total = 0
  let current = 0
  const parts = text.split(/[\s-]+/u).filter((part) => part !== 'and')
  if (parts.length === 0 || parts.length > 6) return null
  for (const part of parts) {
    const unit = units.indexOf(part)
    const ten = tens.indexOf(part)
    if (unit >= 0) current += unit
    else if (ten >= 0) current += (ten + 2) * 10
    else if (part === 'a' && parts.length > 1) current += 1
    else if (part === 'hundred') current = Math.max(current, 1) * 100
    else if (part === 'thousand') {
      total += Math.max(current, 1) * 1000
      current = 0
    } else return null
  }
  return total + current
}

function chineseNumber(text: string): number | null {
  if (!/^[零一二两三四五六七八九十百千]{1,7}$/u.test(text)) return null
  const digits = '零一二三四五六七八九'
  const scales: Readonly<Record<string, number>> = { 十: 10, 百: 100, 千: 1000 }
  let total = 0
  let digit = 0
  for (const character of text.replaceAll('两', '二')) {
    const scale = scales[character]
    if (scale === undefined) digit = digits.indexOf(character)
    else {
      total += (digit === 0 ? 1 : digit) * scale
      digit = 0
    }
  }
  return total + digit
}
