// Imports the root entry and says which globals that touched: to Node and to a page as `report`, as a
// Worker in its answer.
import { stopWatching } from './global-watch.ts'

// The order counts: what watches is loaded first.

import * as turnlog from '../../src/index.ts'

const { watched, touched } = stopWatching()
const report = { names: Object.keys(turnlog).sort(), watched, touched }

Object.assign(globalThis, { report })
export default { fetch: () => Response.json(report) }
