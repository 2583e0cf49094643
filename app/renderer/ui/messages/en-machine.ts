// The words of Settings' sections on the machine and on the rules.
export const machine = {
  machine: 'This machine',
  model: 'Model',
  modelFile: 'File',
  architecture: 'Architecture',
  context: 'Context',
  tokens: (count: string) => `${count} tokens`,
  device: 'Runs on',
  threads: 'Threads',
  trainer: 'Trainer',
  trainerKernels: 'Training uses',
  lookingForKernels: 'Looking; the first time this takes some seconds.',
  ownKernels: (set: string) => `Hone’s own kernels, compiled here for ${set}.`,
  ggmlAlone: (reason: string) => `ggml alone: ${reason}.`,
  slower: (factor: string) =>
    `Training takes about ${factor} times as long as with Hone’s kernels.`,
  slowerBetween: (low: string, high: string) =>
    `Training takes about ${low} to ${high} times as long as with Hone’s kernels.`,
  slowerUnknown: 'How much longer training takes has not been measured on such a processor.',
  gpu: (device: string, kind: string) => `${device}, by ${kind}.`,
  noGpu: (reason: string) => `Not on a GPU: ${reason}.`,
  trainerDevice: 'Training may use',
  trainerDevices: { auto: 'A GPU where one can', cpu: 'Only the processor' },
  trainerDeviceHelp:
    'A GPU is first compared with the processor on a small model. What it cannot do or hold goes to the processor.',
  trainerPlace: 'Train',
  trainerPlaces: { thread: 'Within Hone', process: 'In a process of its own' },
  trainerPlaceHelp: 'A process of its own starts more slowly; if it fails, the chats go on.',
  trainerCrashed: (when: string) =>
    `Hone ended in the middle of the training that began at ${when}. So that the chats go on if that happens again, training now has a process of its own. You can change it back.`,
  dataFolder: 'Data folder',
  appVersion: 'Hone',
  rulesAndThumbs: 'What your thumbs say of the rules',
  ruleRecord: (agreed: string, contradicted: string, weight: string) =>
    `agreed ${agreed}, contradicted ${contradicted}: weighs ${weight}`,
  judgeHidesRequest: 'Hide the request from the model that judges',
  judgeHidesRequestHelp: 'As in the paper: it then sees the reply and what came next alone.',
}
