import type { Messages } from './en.ts'

export const machine: Pick<Messages['settings'], keyof typeof import('./en-machine.ts').machine> = {
  machine: '这台机器',
  model: '模型',
  modelFile: '文件',
  architecture: '架构',
  context: '上下文',
  tokens: (count) => `${count} 词元`,
  device: '运行于',
  threads: '线程',
  trainer: '训练器',
  trainerKernels: '训练使用',
  lookingForKernels: '正在检查；第一次需要几秒钟。',
  ownKernels: (set: string) => `Hone 自己的内核，已在本机为 ${set} 编译。`,
  ggmlAlone: (reason: string) => `仅使用 ggml：${reason}。`,
  slower: (factor: string) => `训练所需时间约为使用 Hone 内核时的 ${factor} 倍。`,
  slowerBetween: (low: string, high: string) =>
    `训练所需时间约为使用 Hone 内核时的 ${low} 到 ${high} 倍。`,
  slowerUnknown: '在这种处理器上会慢多少，尚未测量过。',
  gpu: (device: string, kind: string) => `${device}（${kind}）。`,
  noGpu: (reason: string) => `不用 GPU：${reason}。`,
  trainerDevice: '训练可以使用',
  trainerDevices: { auto: '可用的 GPU', cpu: '只用处理器' },
  trainerDeviceHelp: '先用一个小模型比较 GPU 与处理器的结果。GPU 做不到或装不下的，由处理器完成。',
  trainerPlace: '训练位置',
  trainerPlaces: { thread: '在 Hone 之内', process: '在独立进程中' },
  trainerPlaceHelp: '独立进程启动较慢；即使它出错，对话也会继续。',
  trainerCrashed: (when: string) =>
    `Hone 在 ${when} 开始的训练途中意外结束。为了在再次发生时对话仍能继续，训练现在使用独立进程。您可以改回来。`,
  dataFolder: '数据文件夹',
  appVersion: 'Hone',
  rulesAndThumbs: '您的评价与各规则的比较',
  ruleRecord: (agreed, contradicted, weight) =>
    `一致 ${agreed} 次，相反 ${contradicted} 次：权重 ${weight}`,
  judgeHidesRequest: '对评分模型隐藏请求',
  judgeHidesRequestHelp: '与论文相同：它只看到回复和之后的内容。',
}
