import { describe, expect, it } from 'vitest'
import type { HeatMap } from '../../../shared/contract/app.ts'
import {
  cellAt,
  heat,
  isChosenByToken,
  listsAt,
  mainChoice,
  moveCell,
  parseColor,
  rowSum,
  scaleColor,
  visibleToken,
} from './heat-layout.ts'

const list = (...ids: number[]) => ({
  ids,
  logProbs: ids.map((_, rank) => Math.log(0.5 / (rank + 1))),
})

const map: HeatMap = {
  runId: 'r',
  sampleId: 's',
  turnId: null,
  at: 0,
  topK: 2,
  responseIds: [1, 2, 3],
  responseTexts: ['Os', 'mo', ' sis'],
  tokenTexts: { 1: 'Os', 2: 'mo', 7: ' x' },
  student: [list(1, 7), list(2, 1), list(7, 1)],
  hints: [
    {
      hintId: 'a',
      text: 'short',
      overlap: [2, 1, 0],
      teacher: [list(1, 7), list(2, 9), list(3, 4)],
    },
    {
      hintId: 'b',
      text: 'plain',
      overlap: [0, 0, 0],
      teacher: [list(3, 4), list(3, 4), list(3, 4)],
    },
  ],
  chosen: [0, 0, 1],
}

const frame = { scroll: { left: 0, top: 0 }, width: 2000 }

describe('geometry', () => {
  it('finds the cell under the pointer, scrolled or not', () => {
    const x = heat.label + heat.cell * 1.5
    const y = heat.head + heat.cell * 0.5
    expect(cellAt(map, { x, y }, frame)).toEqual({ hint: 0, position: 1 })
    const scroll = { left: heat.cell, top: heat.cell }
    expect(cellAt(map, { x, y }, { ...frame, scroll })).toEqual({ hint: 1, position: 2 })
  })

  it('finds none over labels, heads, sums and outside', () => {
    const inside = { x: heat.label + 5, y: heat.head + 5 }
    expect(cellAt(map, { ...inside, x: 5 }, frame)).toBeNull()
    expect(cellAt(map, { ...inside, y: 5 }, frame)).toBeNull()
    expect(cellAt(map, { ...inside, x: heat.label + 3 * heat.cell + 5 }, frame)).toBeNull()
    expect(cellAt(map, { ...inside, y: heat.head + 2 * heat.cell + 5 }, frame)).toBeNull()
  })

  it('moves with the arrow keys and stays inside', () => {
    const start = { hint: 0, position: 0 }
    expect(moveCell(map, start, 'ArrowRight')).toEqual({ hint: 0, position: 1 })
    expect(moveCell(map, start, 'ArrowUp')).toEqual(start)
    expect(moveCell(map, { hint: 1, position: 2 }, 'ArrowDown')).toEqual({ hint: 1, position: 2 })
    expect(moveCell(map, start, 'End')).toEqual({ hint: 0, position: 2 })
    expect(moveCell(map, start, 'a')).toBeNull()
  })
})

describe('numbers', () => {
  it('sums rows and finds the hint that was chosen most', () => {
    expect(rowSum(map.hints[0]?.overlap ?? [])).toBe(3)
    expect(mainChoice(map)).toBe(0)
    expect(isChosenByToken(map)).toBe(true)
    expect(mainChoice({ ...map, chosen: [] })).toBeNull()
  })

  it('lists both sides of a cell with what they share', () => {
    const { student, teacher } = listsAt(map, { hint: 0, position: 1 })
    expect(student.map(({ text, isShared }) => [text, isShared])).toEqual([
      ['mo', true],
      ['Os', false],
    ])
    expect(teacher[1]?.text).toBe('#9')
    expect(student[0]?.probability).toBeCloseTo(0.5, 6)
    expect(listsAt(map, { hint: 5, position: 9 })).toEqual({ student: [], teacher: [] })
  })

  it('makes white space visible', () => {
    expect(visibleToken(' a\n')).toBe('·a⏎')
  })
})

describe('colour', () => {
  const scale = {
    low: parseColor('#ffffff'),
    mid: parseColor('#808080'),
    high: parseColor('#000000'),
  }

  it('goes from pale over middle to deep', () => {
    expect([0, 0.5, 1].map((share) => scaleColor(scale, share))).toEqual([
      'rgb(255 255 255)',
      'rgb(128 128 128)',
      'rgb(0 0 0)',
    ])
  })

  it('clamps, and has a grey for a colour that it cannot read', () => {
    expect(scaleColor(scale, 7)).toBe('rgb(0 0 0)')
    expect(parseColor('teal')).toEqual([128, 128, 128])
  })
})
