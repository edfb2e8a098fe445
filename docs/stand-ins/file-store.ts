// The store of docs/bring-your-own-store.md, for the code that uses it.
import { createFileRepository as create } from '../../examples/node-file-store/file-store.ts'

export const createFileRepository = create
