// Branded native addresses: a number that only this folder may hold, tagged with what it points to.
declare const tag: unique symbol

export type Pointer<Tag extends string> = bigint & { readonly [tag]: Tag }
