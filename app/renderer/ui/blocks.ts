const fence = /^ {0,3}(`{3,}|~{3,})/
const listItem = /^ {0,3}([-*+]|\d{1,9}[.)])\s/
const indented = /^( {2,}|\t)/
const definition = /^ {0,3}\[[^\]]+\]:\s/m

/**
 * Cuts Markdown into blocks that can be drawn apart, so that a growing reply only
 * redraws its last one. Never cuts inside a fence or a list. A text with link
 * definitions stays whole, since any block may refer to them.
 */
export function splitBlocks(text: string): string[] {
  if (definition.test(text)) return [text]
  const blocks: string[] = []
  let lines: string[] = []
  let openFence: string | null = null
  let isAfterGap = false
  let isList = false
  for (const line of text.split('\n')) {
    const mark = fence.exec(line)?.[1] ?? null
    const isBlank = line.trim() === ''
    if (isAfterGap && !isBlank) {
      const goesOn = (isList && listItem.test(line)) || indented.test(line)
      if (!goesOn) {
        blocks.push(lines.join('\n'))
        lines = []
      }
    }
    if (lines.length === 0) isList = listItem.test(line)
    lines.push(line)
    if (openFence === null) openFence = mark
    else if (mark !== null && closes(mark, openFence, line)) openFence = null
    isAfterGap = openFence === null && isBlank
  }
  if (lines.some((line) => line.trim() !== '')) blocks.push(lines.join('\n'))
  return blocks
}

function closes(mark: string, open: string, line: string): boolean {
  return mark[0] === open[0] && mark.length >= open.length && line.trim() === mark
}
