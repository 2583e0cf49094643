// The words of how training works: Settings' advanced part and the charts of distillation.
export const trainingCharts = {
  outside: 'Out of reach of hints',
  outsideNote:
    'Share of what the model would say with the hint that lies outside the tokens compared. Where it is large, only examples help.',
  differences: 'How far hints pull',
  differencesNote:
    'Log-probability with the hint minus without it, per token compared, in the newest run. Beyond the lines ±C the pull is cut off.',
  differencesEmpty: 'The bars appear after the first run that had a hint to learn from.',
  difference: 'Difference in nats',
  differenceBelow: (high: string) => `below ${high}`,
  differenceFrom: (low: string) => `${low} or more`,
  differenceBetween: (low: string, high: string) => `${low} to ${high}`,
  tokenCount: 'Tokens',
  clipped: 'Cut off',
  yes: 'yes',
  no: 'no',
}

export const advanced = {
  advanced: 'Advanced',
  advancedHelp:
    'How a run learns. The defaults suit most people; a change counts from the next run on.',
  method: 'Method',
  methodHelp: 'What a run learns from, and how the parts go together.',
  methods: {
    hybrid: 'Rewards, hints and examples',
    grpo: 'Rewards alone',
    opd: 'Hints alone',
    'opd-token': 'Hints alone, on the words said',
    combined: 'Rewards and hints as one',
    'ppo-gae': 'Rewards spread by expectation (PPO)',
  },
  teacher: 'Who answers with the hint',
  teacherHelp:
    'The model with the hint in view shows how the answer should have been. The version in use keeps more of what it has learned.',
  teachers: { base: 'The model as it came', active: 'The version in use' },
  selection: 'Which hint counts',
  selectionHelp: 'Where one answer has several hints.',
  selections: {
    sequence: 'Nearest to the whole answer',
    token: 'Nearest at each word',
    shortest: 'The shortest',
    longest: 'The longest',
    random: 'Any, by chance',
  },
  support: 'Words that are compared',
  supportHelp: 'At each place only the likeliest few are moved.',
  supports: {
    student: 'Likely without the hint',
    teacher: 'Likely with the hint',
    overlap: 'Likely both ways',
    union: 'Likely either way',
  },
  supportSize: 'How many words at each place',
  differenceClip: 'Strongest pull of a hint',
  differenceClipHelp: 'C, in nats. More learns faster and drifts more.',
  rateSchedule: 'Learning rate',
  rateScheduleHelp: 'Whether the steps of a run stay the same size.',
  rateSchedules: { constant: 'The same in every step', cosine: 'Falling to nothing' },
  klWeight: 'Hold to the base',
  klWeightHelp: 'β, a price for saying what the model as it came would not. 0 = none.',
}
