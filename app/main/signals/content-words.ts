// The words of a text that carry its content: what is left without function words (resources/cues).
import words from '../../../resources/cues/function-words.json' with { type: 'json' }

const functionWords: ReadonlySet<string> = new Set(Object.values(words).join(' ').split(' '))

const wordOrCharacter =
  /[\u3400-\u9fff]|(?:(?![\u3400-\u9fff])[\p{L}\p{N}])+(?:['’.-](?:(?![\u3400-\u9fff])[\p{L}\p{N}])+)*/gu

/** Content words of a text in lower case; each Chinese character counts as a word. */
export function contentWords(text: string): string[] {
  const found = text.toLowerCase().match(wordOrCharacter) ?? []
  return found.filter((word) => !functionWords.has(word))
}
