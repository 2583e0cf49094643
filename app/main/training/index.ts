export { createTrainer } from './trainer.ts'
export type { Trainer, TrainerOptions } from './trainer.ts'
