/** Which reply tokens a reward is about: an edit rejects only the words it took out. */
export const rewardMaskMigration = {
  version: 4,
  sql: 'ALTER TABLE samples ADD COLUMN reward_mask TEXT;',
}
